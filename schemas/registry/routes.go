package registry

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
)

// maxBody bounds a request; Kafka's records are bounded to about the same.
const maxBody = 1 << 20

func (s *Server) router() *http.ServeMux {
	mux := http.NewServeMux()
	for pattern, e := range map[string]endpoint{
		"GET /{$}":                                    s.root,
		"GET /schemas/types":                          s.types,
		"GET /schemas/ids/{id}":                       s.schemaByID,
		"GET /schemas/ids/{id}/schema":                s.schemaTextByID,
		"GET /schemas/ids/{id}/subjects":              s.subjectsByID,
		"GET /schemas/ids/{id}/versions":              s.versionsByID,
		"GET /subjects":                               s.subjects,
		"POST /subjects/{subject}":                    s.lookUp,
		"GET /subjects/{subject}/versions":            s.versions,
		"POST /subjects/{subject}/versions":           s.register,
		"GET /subjects/{subject}/versions/{v}":        s.version,
		"GET /subjects/{subject}/versions/{v}/schema": s.versionText,
		"DELETE /subjects/{subject}":                  s.noDeletion,
		"DELETE /subjects/{subject}/versions/{v}":     s.noDeletion,
		"GET /config":                                 s.config,
		"PUT /config":                                 s.setConfig,
		"GET /config/{subject}":                       s.config,
		"PUT /config/{subject}":                       s.setConfig,
		"GET /mode":                                   s.mode,
		"PUT /mode":                                   s.setMode,
		"GET /mode/{subject}":                         s.mode,
		"PUT /mode/{subject}":                         s.setMode,
		"/":                                           s.nothingThere,
	} {
		mux.Handle(pattern, s.serve(e))
	}
	return mux
}

func (s *Server) root(*http.Request) (any, error)  { return struct{}{}, nil }
func (s *Server) types(*http.Request) (any, error) { return []string{typeAvro}, nil }

func (s *Server) nothingThere(r *http.Request) (any, error) {
	return nil, refuse(http.StatusNotFound, "HTTP 404 Not Found: the embedded registry does not serve %s %s", r.Method, r.URL.Path)
}

func (s *Server) noDeletion(*http.Request) (any, error) {
	return nil, refuse(codeNotPermitted, "The embedded registry deletes nothing: records on the topics cite every schema ever registered")
}

// schemaAnswer is the part of a version that stands by itself.
type schemaAnswer struct {
	SchemaType string          `json:"schemaType,omitempty"`
	References json.RawMessage `json:"references,omitempty"`
	Schema     string          `json:"schema"`
}

// versionAnswer is a version of a subject.
type versionAnswer struct {
	Subject string `json:"subject"`
	Version int    `json:"version"`
	ID      int    `json:"id"`
	schemaAnswer
}

func asSchema(v *schemaValue) schemaAnswer {
	return schemaAnswer{v.SchemaType, v.References, v.Schema}
}

func asVersion(v *schemaValue) versionAnswer {
	return versionAnswer{v.Subject, v.Version, v.ID, asSchema(v)}
}

// byID finds the schema of the path's id.
func (s *Server) byID(r *http.Request) (*schemaValue, error) {
	id, err := strconv.Atoi(r.PathValue("id"))
	if err != nil {
		return s.none(r)
	}
	return known(r.Context(), s, func(st *state) (*schemaValue, error) {
		v, ok := st.schemas[id]
		if !ok {
			return nil, refuse(codeSchemaNotFound, "Schema %d not found", id)
		}
		return v, nil
	})
}

func (s *Server) none(r *http.Request) (*schemaValue, error) {
	_, err := s.nothingThere(r)
	return nil, err
}

func (s *Server) schemaByID(r *http.Request) (any, error) {
	v, err := s.byID(r)
	if err != nil {
		return nil, err
	}
	return asSchema(v), nil
}

func (s *Server) schemaTextByID(r *http.Request) (any, error) {
	v, err := s.byID(r)
	if err != nil {
		return nil, err
	}
	return rawText(v.Schema), nil
}

type subjectVersion struct {
	Subject string `json:"subject"`
	Version int    `json:"version"`
}

func (s *Server) versionsByID(r *http.Request) (any, error) {
	v, err := s.byID(r)
	if err != nil {
		return nil, err
	}
	return fresh(r.Context(), s, func(st *state) ([]subjectVersion, error) {
		uses := []subjectVersion{}
		for _, subject := range st.subjectNames() {
			for _, use := range st.visible(subject) {
				if use.id == v.ID {
					uses = append(uses, subjectVersion{subject, use.number})
				}
			}
		}
		return uses, nil
	})
}

func (s *Server) subjectsByID(r *http.Request) (any, error) {
	uses, err := s.versionsByID(r)
	if err != nil {
		return nil, err
	}
	names := []string{}
	for _, use := range uses.([]subjectVersion) {
		names = append(names, use.Subject)
	}
	return slices.Compact(names), nil
}

func (s *Server) subjects(r *http.Request) (any, error) {
	return fresh(r.Context(), s, func(st *state) ([]string, error) { return st.subjectNames(), nil })
}

func (s *Server) versions(r *http.Request) (any, error) {
	subject := r.PathValue("subject")
	return fresh(r.Context(), s, func(st *state) ([]int, error) {
		var numbers []int
		for _, v := range st.visible(subject) {
			numbers = append(numbers, v.number)
		}
		if numbers == nil {
			return nil, refuse(codeSubjectNotFound, "Subject '%s' not found.", subject)
		}
		return numbers, nil
	})
}

func (s *Server) version(r *http.Request) (any, error) {
	v, err := s.findVersion(r)
	if err != nil {
		return nil, err
	}
	return asVersion(v), nil
}

func (s *Server) versionText(r *http.Request) (any, error) {
	v, err := s.findVersion(r)
	if err != nil {
		return nil, err
	}
	return rawText(v.Schema), nil
}

func (s *Server) findVersion(r *http.Request) (*schemaValue, error) {
	subject, text := r.PathValue("subject"), r.PathValue("v")
	if text == "latest" || text == "-1" {
		return fresh(r.Context(), s, func(st *state) (*schemaValue, error) {
			visible := st.visible(subject)
			if len(visible) == 0 {
				return nil, refuse(codeSubjectNotFound, "Subject '%s' not found.", subject)
			}
			return st.described(subject, visible[len(visible)-1]), nil
		})
	}
	number, err := strconv.ParseInt(text, 10, 32)
	if err != nil || number < 1 {
		return nil, refuse(codeInvalidVersion, `The specified version '%s' is not a valid version id. `+
			`Allowed values are between [1, 2^31-1] and the string "latest"`, text)
	}
	return known(r.Context(), s, func(st *state) (*schemaValue, error) {
		visible := st.visible(subject)
		if len(visible) == 0 {
			return nil, refuse(codeSubjectNotFound, "Subject '%s' not found.", subject)
		}
		for _, v := range visible {
			if v.number == int(number) {
				return st.described(subject, v), nil
			}
		}
		return nil, refuse(codeVersionNotFound, "Version %d not found.", number)
	})
}
