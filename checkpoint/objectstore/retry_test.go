package objectstore

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"taximeter/checkpoint"
)

// scripted answers the n-th request with the n-th status, and the last one from then on.
// Status 0 breaks the connection off. Bodies of puts are collected.
func scripted(t *testing.T, budget time.Duration, statuses ...int) (*S3, *atomic.Int32, *[]string) {
	t.Helper()
	var calls atomic.Int32
	var bodies []string // one client, one call at a time
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := int(calls.Add(1)) - 1
		body, _ := io.ReadAll(r.Body) // a broken body shows in the comparison
		bodies = append(bodies, string(body))
		switch st := statuses[min(n, len(statuses)-1)]; st {
		case 0:
			panic(http.ErrAbortHandler)
		case http.StatusOK:
			w.Header().Set("ETag", `"tag"`)
		case http.StatusBadRequest:
			w.WriteHeader(st)
			_, _ = io.WriteString(w, `<Error><Code>RequestTimeout</Code></Error>`)
		default:
			w.WriteHeader(st)
		}
	}))
	t.Cleanup(server.Close)
	st, err := NewS3(S3Config{Endpoint: server.URL, Bucket: "b", PathStyle: true, AccessKey: "k", SecretKey: "s", Budget: budget})
	if err != nil {
		t.Fatal(err)
	}
	return st, &calls, &bodies
}

func TestTransientFailuresAreTriedAgainWithTheWholeBody(t *testing.T) {
	st, calls, bodies := scripted(t, time.Minute, 503, 500, 0, 429, 409, 400, 200)
	w, err := st.PutIfAbsent(t.Context(), "k", strings.NewReader("content"))
	if err != nil || !w.Stored || w.ETag != `"tag"` {
		t.Fatalf("%+v, %v", w, err)
	}
	if calls.Load() != 7 {
		t.Fatalf("%d calls", calls.Load())
	}
	for i, b := range *bodies {
		if b != "content" {
			t.Errorf("call %d sent %q", i, b)
		}
	}
}

// After a lost answer our own put reads as another's: the port says so, and Chain compares.
func TestLostAnswerOfAConditionalPutReadsAsNotStored(t *testing.T) {
	st, _, _ := scripted(t, time.Minute, 0, 412)
	w, err := st.PutIfAbsent(t.Context(), "k", strings.NewReader("x"))
	if err != nil || w.Stored {
		t.Fatalf("%+v, %v", w, err)
	}
}

func TestFinalFailuresAreNotTriedAgain(t *testing.T) {
	for _, code := range []int{401, 403, 404, 405, 412, 501} {
		st, calls, _ := scripted(t, time.Minute, code)
		if err := st.Put(t.Context(), "k", strings.NewReader("x")); err == nil {
			t.Errorf("%d was taken as success", code)
		}
		if calls.Load() != 1 {
			t.Errorf("%d was tried %d times", code, calls.Load())
		}
	}
}

func TestBudgetEndsTheTries(t *testing.T) {
	st, calls, _ := scripted(t, 300*time.Millisecond, 503)
	begun := time.Now()
	_, err := st.Get(t.Context(), "k")
	if err == nil || status(err) != 503 || errors.Is(err, checkpoint.ErrNotFound) {
		t.Fatalf("got %v", err)
	}
	if took := time.Since(begun); calls.Load() < 2 || took > 5*time.Second {
		t.Fatalf("%d calls in %s", calls.Load(), took)
	}
}

func TestCancellingEndsTheWait(t *testing.T) {
	st, calls, _ := scripted(t, time.Hour, 503)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- st.Delete(ctx, "k") }()
	for calls.Load() == 0 && t.Context().Err() == nil {
		runtime.Gosched()
	}
	cancel()
	select {
	case err := <-done:
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the call goes on")
	}
}
