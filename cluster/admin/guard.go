package admin

import (
	"crypto/sha256"
	"crypto/subtle"
	"log/slog"
	"net/http"
	"slices"
	"strings"
)

// Guarded answers everybody on the open paths, and on the others those who give one of the
// tokens: as a bearer token, or as the password of basic authentication, under any name. The
// tokens are asked for with every request.
func Guarded(next http.Handler, tokens func() ([]string, error), open []string, log *slog.Logger) http.Handler {
	s := server{log: log}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if slices.Contains(open, r.URL.Path) {
			next.ServeHTTP(w, r)
			return
		}
		known, err := tokens()
		if err != nil {
			s.log.Error("nobody can be let in to the admin API", "err", err)
			s.problem(w, r, http.StatusServiceUnavailable, "nobody can be let in", "the node cannot read its tokens; see its log")
			return
		}
		if !anyOf(known, given(r)) {
			w.Header().Add("WWW-Authenticate", `Bearer realm="taximeter"`)
			w.Header().Add("WWW-Authenticate", `Basic realm="taximeter"`)
			s.problem(w, r, http.StatusUnauthorized, "not let in", "give the token of admin.token or admin.tokenFile, as a bearer token or as the password of basic authentication")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// given is the token that a request comes with, or "".
func given(r *http.Request) string {
	if _, password, ok := r.BasicAuth(); ok {
		return password
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return token
}

// anyOf takes as long whatever is given.
func anyOf(known []string, token string) bool {
	hash := sha256.Sum256([]byte(token))
	found := 0
	for _, k := range known {
		want := sha256.Sum256([]byte(k))
		found |= subtle.ConstantTimeCompare(hash[:], want[:])
	}
	return found == 1 && token != ""
}
