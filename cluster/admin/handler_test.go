package admin_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"taximeter/actors/trip"
	"taximeter/cluster/admin"
	"taximeter/schemas"
)

// node answers what the test put in.
type node struct {
	err      error // of questions about trips
	notReady error
}

func (n node) Trip(_ context.Context, id schemas.TripID) (admin.TripAnswer, error) {
	if id == "panic" {
		panic("boom")
	}
	return admin.TripAnswer{View: trip.View{TripID: id}, Owner: "a"}, n.err
}
func (n node) Explain(_ context.Context, id schemas.TripID) (trip.Explanation, error) {
	return trip.Explanation{TripID: id}, n.err
}
func (n node) Partitions() []admin.PartitionStatus {
	return []admin.PartitionStatus{
		{Partition: 0, State: "running", Pending: 2, Verdicts: map[string]int64{"contado": 7}, EndOffset: [schemas.NumInputs]schemas.Offset{9, -1, -1}},
		{Partition: 1, State: admin.Elsewhere, Verdicts: map[string]int64{"contado": 100}},
	}
}
func (n node) Checkpoints(context.Context, int) (admin.CheckpointStatus, error) {
	return admin.CheckpointStatus{Tip: 3}, nil
}
func (n node) Cluster() admin.ClusterStatus { return admin.ClusterStatus{Node: "a"} }
func (n node) Ready() error                 { return n.notReady }
func (n node) Revoked() int64               { return 0 }
func (n node) Drain() error                 { return admin.ErrUnguarded }

func get(t *testing.T, n node, path string) (status int, kind, body string) {
	t.Helper()
	metrics := prometheus.NewRegistry()
	metrics.MustRegister(admin.NewCollector(n))
	server := httptest.NewServer(admin.Handler(n, metrics, slog.New(slog.DiscardHandler)))
	defer server.Close()
	answer, err := http.Get(server.URL + path)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, answer.Header.Get("Content-Type"), string(text)
}

func TestErrorsAreProblemDocuments(t *testing.T) {
	for _, c := range []struct {
		node   node
		path   string
		status int
		title  string
	}{
		{node{err: admin.ErrNoTrip}, "/trips/x", 404, "no such trip"},
		{node{err: admin.ErrMoving}, "/trips/x", 503, "moving"},
		{node{err: context.DeadlineExceeded}, "/trips/x/explain", 504, "the owner did not answer in time"},
		{node{err: errors.New("disk on fire")}, "/trips/x/explain", 500, "the request failed"},
		{node{}, "/trips/panic", 500, "internal error"},
		{node{}, "/nothing", 404, "no such resource"},
		{node{notReady: errors.New("starting")}, "/readyz", 503, "not ready"},
	} {
		status, kind, body := get(t, c.node, c.path)
		var p admin.Problem
		if err := json.Unmarshal([]byte(body), &p); err != nil || kind != "application/problem+json" || status != c.status || p.Status != c.status || p.Title != c.title {
			t.Errorf("%s: %d %s %s, want %d %q", c.path, status, kind, body, c.status, c.title)
		}
		if strings.Contains(body, "goroutine") {
			t.Errorf("%s shows a stack: %s", c.path, body)
		}
	}
}

func TestGoodAnswers(t *testing.T) {
	for path, part := range map[string]string{
		"/trips/a%2Fb": `"tripId": "a/b"`, "/trips/x/explain": `"tripId": "x"`, "/partitions": `"particao": 1`, "/checkpoints": `"ultimo": 3`,
		"/cluster": `"no": "a"`, "/healthz": "ok", "/readyz": "ready", "/": "/trips/{id}",
	} {
		if status, kind, body := get(t, node{}, path); status != 200 || kind != "application/json" || !strings.Contains(body, part) {
			t.Errorf("%s: %d %s %s, want %s in it", path, status, kind, body, part)
		}
	}
}

func TestMetricsAreThoseOfOwnPartitions(t *testing.T) {
	_, _, body := get(t, node{}, "/metrics")
	for _, line := range []string{`taximeter_records_total{partition="0",verdict="contado"} 7`, `taximeter_lag_records{partition="0",topic="corridas.telemetria"} 9`, `taximeter_publications_pending{partition="0"} 2`, "taximeter_ready 1"} {
		if !strings.Contains(body, line) {
			t.Errorf("no %s in\n%s", line, body)
		}
	}
	if strings.Contains(body, `partition="1"`) {
		t.Error("another node's partition is counted here too")
	}
}
