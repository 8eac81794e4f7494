package admin_test

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"taximeter/cluster/admin"
)

func TestOnlyWhoGivesATokenIsAnswered(t *testing.T) {
	tokens, fault := []string{"old", "new"}, error(nil)
	log := slog.New(slog.DiscardHandler)
	h := admin.Guarded(admin.Handler(node{}, prometheus.NewRegistry(), log), func() ([]string, error) { return tokens, fault }, []string{"/healthz", "/metrics"}, log)
	ask := func(path string, as func(*http.Request)) *httptest.ResponseRecorder {
		r, w := httptest.NewRequest(http.MethodGet, path, nil), httptest.NewRecorder()
		as(r)
		h.ServeHTTP(w, r)
		return w
	}
	nobody := func(*http.Request) {}
	bearer := func(token string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }
	}
	basic := func(r *http.Request) { r.SetBasicAuth("prometheus", "new") }
	for _, c := range []struct {
		path string
		as   func(*http.Request)
		want int
	}{
		{"/healthz", nobody, 200}, {"/metrics", nobody, 200}, {"/readyz", nobody, 401}, {"/trips/x", nobody, 401}, {"/nothing", nobody, 401},
		{"/healthz/../trips/x", nobody, 401},
		{"/trips/x", bearer("old"), 200}, {"/trips/x", bearer("new"), 200}, {"/trips/x", basic, 200},
		{"/trips/x", bearer("wrong"), 401}, {"/trips/x", bearer(""), 401},
		{"/trips/x", func(r *http.Request) { r.Header.Set("Authorization", "old") }, 401},
	} {
		if got := ask(c.path, c.as); got.Code != c.want {
			t.Errorf("%s: %d, want %d", c.path, got.Code, c.want)
		}
	}
	refused := ask("/trips/x", nobody)
	var p admin.Problem
	if err := json.Unmarshal(refused.Body.Bytes(), &p); err != nil || p.Title != "not let in" || len(refused.Header().Values("WWW-Authenticate")) != 2 {
		t.Error(p, err, refused.Header())
	}
	tokens = []string{""}
	if got := ask("/trips/x", bearer("")); got.Code != 401 {
		t.Errorf("an empty token lets in: %d", got.Code)
	}
	fault = errors.New("no such file")
	if got := ask("/trips/x", bearer("old")); got.Code != 503 {
		t.Errorf("without tokens: %d", got.Code)
	}
}
