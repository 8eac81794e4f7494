package registry

import (
	"encoding/json"
	"errors"
	"net/http"
)

// schemaRequest is the body of a registration or look-up. What we do not support is read
// in order to refuse it: quietly dropping a rule or a reference would be a lie.
type schemaRequest struct {
	Schema     string          `json:"schema"`
	SchemaType string          `json:"schemaType"`
	References []any           `json:"references"`
	ID         int             `json:"id"`
	Version    int             `json:"version"`
	Metadata   json.RawMessage `json:"metadata"`
	RuleSet    json.RawMessage `json:"ruleSet"`
}

// readSchema is the schema that the body gives, and its canonical form.
func readSchema(r *http.Request) (req schemaRequest, canonical string, err error) {
	if err := readBody(r, &req); err != nil {
		return req, "", err
	}
	switch {
	case req.SchemaType != "" && req.SchemaType != typeAvro:
		return req, "", refuse(codeInvalidSchema, "Invalid schema type %s: the embedded registry holds only %s", req.SchemaType, typeAvro)
	case len(req.References) > 0:
		return req, "", refuse(codeInvalidSchema, "Invalid schema: the embedded registry does not follow references; write the cited types into the schema")
	case given(req.Metadata) || given(req.RuleSet):
		return req, "", refuse(codeInvalidSchema, "Invalid schema: the embedded registry does not apply metadata or rule sets; leave them out")
	case req.Schema == "":
		return req, "", refuse(codeInvalidSchema, "Empty schema")
	}
	if canonical, err = checkAvro(req.Schema); err != nil {
		return req, "", refuse(codeInvalidSchema, "Invalid schema: %v", err)
	}
	return req, canonical, nil
}

func readBody(r *http.Request, into any) error {
	err := json.NewDecoder(http.MaxBytesReader(nil, r.Body, maxBody)).Decode(into)
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return refuse(codeSchemaTooLarge, "Schema is too large: the request may have %d bytes", maxBody)
	}
	if err != nil {
		return refuse(http.StatusBadRequest, "Request body is not the JSON object expected: %v", err)
	}
	return nil
}

func given(v json.RawMessage) bool { return len(v) > 0 && string(v) != "null" }

func (s *Server) register(r *http.Request) (any, error) {
	subject := r.PathValue("subject")
	req, canonical, err := readSchema(r)
	if err != nil {
		return nil, err
	}
	if req.ID > 0 || req.Version > 0 {
		return nil, refuse(codeNotPermitted, "Subject '%s' is not in import mode: the registry chooses ids and versions", subject)
	}
	find := func(st *state) (*schemaValue, error) {
		v, ok := st.find(subject, canonical)
		if !ok {
			return nil, refuse(codeSchemaNotFound, "Schema not found")
		}
		return st.described(subject, v), nil
	}
	v, err := now(s, find)
	for notFound(err) {
		if err := s.append(r.Context(), func(st *state) (key, value []byte, err error) {
			if _, ok := st.find(subject, canonical); ok {
				return nil, nil, nil
			}
			return schemaRecord(st.next(subject, req.Schema, canonical))
		}); err != nil {
			return nil, err
		}
		v, err = shown(r.Context(), s, find)
	}
	if err != nil {
		return nil, err
	}
	return asVersion(v), nil
}

func (s *Server) lookUp(r *http.Request) (any, error) {
	subject := r.PathValue("subject")
	_, canonical, err := readSchema(r)
	if err != nil {
		return nil, err
	}
	v, err := known(r.Context(), s, func(st *state) (*schemaValue, error) {
		if len(st.visible(subject)) == 0 {
			return nil, refuse(codeSubjectNotFound, "Subject '%s' not found.", subject)
		}
		v, ok := st.find(subject, canonical)
		if !ok {
			return nil, refuse(codeSchemaNotFound, "Schema not found")
		}
		return st.described(subject, v), nil
	})
	if err != nil {
		return nil, err
	}
	return asVersion(v), nil
}
