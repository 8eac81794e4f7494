package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// Confluent's error codes: the HTTP status, or it and two digits more.
const (
	codeSubjectNotFound  = 40401
	codeVersionNotFound  = 40402
	codeSchemaNotFound   = 40403
	codeNoSubjectConfig  = 40408
	codeNoSubjectMode    = 40409
	codeInvalidSchema    = 42201
	codeInvalidVersion   = 42202
	codeInvalidLevel     = 42203
	codeInvalidMode      = 42204
	codeNotPermitted     = 42205
	codeSchemaTooLarge   = 42209
	codeStore            = 50001
	codeOperationTimeout = 50002
)

const contentType = "application/vnd.schemaregistry.v1+json"

// refusal is an answer other than 200; its JSON is the body.
type refusal struct {
	Code    int    `json:"error_code"`
	Message string `json:"message"`
}

func (r *refusal) Error() string { return r.Message }

func (r *refusal) status() int {
	if r.Code > 999 {
		return r.Code / 100
	}
	return r.Code
}

func refuse(code int, format string, args ...any) error {
	return &refusal{code, fmt.Sprintf(format, args...)}
}

// notFound reports whether err says that the log holds no such thing.
func notFound(err error) bool {
	var r *refusal
	return errors.As(err, &r) && r.status() == http.StatusNotFound
}

func asRefusal(err error) *refusal {
	var r *refusal
	switch {
	case errors.As(err, &r):
		return r
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return &refusal{codeOperationTimeout, "Operation timed out: " + err.Error()}
	}
	return &refusal{codeStore, "Error in the backend data store: " + err.Error()}
}

// rawText is an answer sent as it is instead of as a JSON value.
type rawText string

// endpoint answers one kind of request; an error is sent as asRefusal has it.
type endpoint func(*http.Request) (any, error)

func (s *Server) serve(e endpoint) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		answer, err := e(r)
		status := http.StatusOK
		if err != nil {
			refused := asRefusal(err)
			if status = refused.status(); status >= http.StatusInternalServerError {
				s.cfg.Log.Error("schema registry request failed", "method", r.Method, "path", r.URL.Path, "err", err)
			}
			answer = refused
		}
		body := []byte(nil)
		if text, ok := answer.(rawText); ok {
			body = []byte(text)
		} else if body, err = json.Marshal(answer); err != nil {
			panic(fmt.Sprintf("registry answer %T cannot be encoded: %v", answer, err))
		}
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		if _, err := w.Write(body); err != nil {
			s.cfg.Log.Debug("schema registry answer not sent", "path", r.URL.Path, "err", err)
		}
	}
}
