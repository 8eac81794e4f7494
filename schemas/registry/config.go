package registry

import (
	"net/http"
	"slices"
)

const modeReadWrite = "READWRITE"

// The compatibility level is NONE: any valid schema is taken. We say so when asked and
// refuse to be told otherwise, rather than store a level that nothing enforces.

func (s *Server) config(r *http.Request) (any, error) {
	subject := r.PathValue("subject")
	own, err := fresh(r.Context(), s, func(st *state) (bool, error) { return st.configured[subject], nil })
	if err != nil {
		return nil, err
	}
	if subject != "" && !own && r.URL.Query().Get("defaultToGlobal") != "true" {
		return nil, refuse(codeNoSubjectConfig, "Subject '%s' does not have subject-level compatibility configured", subject)
	}
	return configValue{levelNone}, nil
}

func (s *Server) setConfig(r *http.Request) (any, error) {
	subject := r.PathValue("subject")
	var req levelRequest
	if err := readBody(r, &req); err != nil {
		return nil, err
	}
	if req.Level != levelNone {
		levels := []string{"BACKWARD", "BACKWARD_TRANSITIVE", "FORWARD", "FORWARD_TRANSITIVE", "FULL", "FULL_TRANSITIVE"}
		if slices.Contains(levels, req.Level) {
			return nil, refuse(codeInvalidLevel, "The embedded registry does not enforce %s, so it will not promise it; the only level it knows is %s", req.Level, levelNone)
		}
		return nil, refuse(codeInvalidLevel, "Invalid compatibility level %q; the only level that the embedded registry knows is %s", req.Level, levelNone)
	}
	err := s.append(r.Context(), func(st *state) (key, value []byte, err error) {
		if st.configured[subject] {
			return nil, nil, nil
		}
		return configRecord(subject)
	})
	return req, err
}

// levelRequest asks for a level and confirms it; answers about it use configValue.
type levelRequest struct {
	Level string `json:"compatibility"`
}

func (s *Server) mode(r *http.Request) (any, error) {
	subject := r.PathValue("subject")
	if subject != "" && r.URL.Query().Get("defaultToGlobal") != "true" {
		return nil, refuse(codeNoSubjectMode, "Subject '%s' does not have subject-level mode configured", subject)
	}
	return modeValue{modeReadWrite}, nil
}

type modeValue struct {
	Mode string `json:"mode"`
}

func (s *Server) setMode(r *http.Request) (any, error) {
	var req modeValue
	if err := readBody(r, &req); err != nil {
		return nil, err
	}
	if req.Mode != modeReadWrite || r.PathValue("subject") != "" {
		return nil, refuse(codeInvalidMode, "The embedded registry is always %s as a whole", modeReadWrite)
	}
	return req, nil
}
