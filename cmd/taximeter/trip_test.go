package main

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/prometheus/client_golang/prometheus"

	"taximeter/actors/partition"
	"taximeter/actors/rule"
	"taximeter/actors/trip"
	"taximeter/cluster/admin"
	"taximeter/schemas"
	"taximeter/schemas/edge"
)

// A node of one partition, fed by the script's events, behind the real admin API. $ADMIN
// stands for its address.
func TestTripCommands(t *testing.T) {
	var node oneNode
	datadriven.RunTest(t, "testdata/trip", func(t *testing.T, d *datadriven.TestData) string {
		switch d.Cmd {
		case "events":
			node = feedNode(t, d.Input)
			return ""
		case "run":
			server := httptest.NewServer(admin.Handler(node, prometheus.NewRegistry(), slog.New(slog.DiscardHandler)))
			defer server.Close()
			text := taximeter(t, strings.Fields(d.Input+" --admin "+server.URL)...)
			return strings.ReplaceAll(text, server.URL, "$ADMIN")
		}
		t.Fatalf("no directive %q", d.Cmd)
		return ""
	})
}

func TestForeignServersAreNamed(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		want   string
		code   string
	}{
		{http.StatusOK, "<html>", "answers something else than a trip", "exit 1"},
		{http.StatusBadGateway, "<html>", "answers 502 Bad Gateway: is it the admin API of a taximeter?", "exit 1"},
		{http.StatusNotFound, `{"message":"no route"}`, "answers 404 Not Found: is it the admin API", "exit 1"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.body)
		}))
		if got := taximeter(t, "trip", "explain", "a", "--admin", server.URL); !strings.Contains(got, c.want) || !strings.Contains(got, c.code) {
			t.Errorf("HTTP %d %s: %s", c.status, c.body, got)
		}
		server.Close()
	}
}

// oneNode answers for a single partition.
type oneNode struct {
	admin.Node
	task *partition.Partition
}

func (n oneNode) Trip(_ context.Context, id schemas.TripID) (admin.TripAnswer, error) {
	v, ok, err := n.task.View(id)
	if err != nil || !ok {
		return admin.TripAnswer{}, admin.ErrNoTrip
	}
	a := admin.TripAnswer{View: v, Partition: n.task.ID(), Owner: "node-1", Watermark: n.task.Watermark()}
	for _, topic := range schemas.Inputs {
		a.NextOffsets[topic] = n.task.Position(topic).Next
	}
	return a, nil
}

func (n oneNode) Explain(_ context.Context, id schemas.TripID) (trip.Explanation, error) {
	x, ok, err := n.task.Explain(id)
	if err != nil || !ok {
		return x, admin.ErrNoTrip
	}
	return x, nil
}

func feedNode(t *testing.T, lines string) oneNode {
	t.Helper()
	p := partition.New(7, partition.File, partition.DefaultSettings(), &rule.Book{}, partition.Direct{}, nil, 0)
	err := p.PutTariff(12, schemas.Tariff{TariffID: "centro-1", Region: "centro", Category: schemas.Any, ValidFrom: 1_735_689_600_000, Currency: "BRL",
		Base: 4_500_000, PerKm: 2_000_000, PerMin: 300_000, Minimum: 8_000_000, CancelFee: 5_000_000, GraceS: 120})
	if err != nil {
		t.Fatal(err)
	}
	r := edge.NewReader("events", strings.NewReader(lines))
	for {
		line, err := r.Next()
		if err == io.EOF {
			return oneNode{task: p}
		}
		if err != nil {
			t.Fatal(err)
		}
		b := schemas.Batch{Partition: 7, Records: make([]schemas.Record, 1)}
		line.Record(&b.Records[0])
		b.Records[0].Offset = p.Position(line.Topic).Next
		if err := p.Consume(&b, 0); err != nil {
			t.Fatal(err)
		}
	}
}
