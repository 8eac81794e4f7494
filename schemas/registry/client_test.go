package registry

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func client(t *testing.T, url string) *Client {
	t.Helper()
	c, err := NewClient(ClientConfig{URLs: []string{url}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestTheClientAgainstTheServer(t *testing.T) {
	url, stop := start(t, broker(t))
	c := client(t, url)
	if _, err := c.SchemaByID(t.Context(), 1); !errors.Is(err, ErrNotFound) || Unavailable(err) {
		t.Error(err)
	}
	if _, err := c.Register(t.Context(), "s", "{"); !errors.Is(err, ErrRefused) || Unavailable(err) {
		t.Error(err)
	}
	for range 2 {
		if id, err := c.Register(t.Context(), "s", point); id != 1 || err != nil {
			t.Fatal(id, err)
		}
	}
	if text, err := c.SchemaByID(t.Context(), 1); text != point || err != nil {
		t.Error(text, err)
	}

	stop()
	if text, err := c.SchemaByID(t.Context(), 1); text != point || err != nil {
		t.Error("an id once seen needs no registry", text, err)
	}
	if _, err := c.SchemaByID(t.Context(), 2); !Unavailable(err) || errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), "schema id 2") {
		t.Error(err)
	}
}

// Only the registry's own word is a "not found": all else must make the record wait.
func TestWhoeverElseAnswersIsNotTheRegistry(t *testing.T) {
	for name, c := range map[string]struct {
		status      int
		body        string
		unavailable bool
		sentinel    error
	}{
		"no such id":            {404, `{"error_code":40403,"message":"Schema 5 not found"}`, false, ErrNotFound},
		"a proxy's 404":         {404, `<html>not found</html>`, true, nil},
		"no such path":          {404, `{"error_code":404,"message":"HTTP 404 Not Found"}`, true, nil},
		"no such subject":       {404, `{"error_code":40401,"message":"of an id?"}`, true, nil},
		"store error":           {500, `{"error_code":50001,"message":"store"}`, true, nil},
		"bad gateway":           {502, ``, true, nil},
		"too many requests":     {429, ``, true, nil},
		"no permission":         {401, `{"error_code":401,"message":"Unauthorized"}`, true, nil},
		"an answer of no sense": {200, `<html>`, true, nil},
		"protobuf":              {200, `{"schemaType":"PROTOBUF","schema":"x"}`, false, ErrRefused},
		"references":            {200, `{"schema":"\"int\"","references":[{"name":"n","subject":"s","version":1}]}`, false, ErrRefused},
	} {
		t.Run(name, func(t *testing.T) {
			var asked atomic.Int32
			h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				w.WriteHeader(c.status)
				if _, err := w.Write([]byte(c.body)); err != nil {
					t.Error(err)
				}
			}))
			defer h.Close()
			cl := client(t, h.URL)
			for range 2 { // and nothing of it is remembered
				_, err := cl.SchemaByID(t.Context(), 5)
				if err == nil || Unavailable(err) != c.unavailable || c.sentinel != nil && !errors.Is(err, c.sentinel) {
					t.Error(err)
				}
			}
			if asked.Load() != 2 {
				t.Errorf("asked %d times", asked.Load())
			}
		})
	}
}

func TestASilentRegistryTimesOut(t *testing.T) {
	release := make(chan struct{})
	h := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer h.Close()
	defer close(release)
	c, err := NewClient(ClientConfig{URLs: []string{h.URL}, Timeout: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.SchemaByID(t.Context(), 1); !Unavailable(err) {
		t.Error(err)
	}
}
