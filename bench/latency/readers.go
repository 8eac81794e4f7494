package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/bench/internal/oracle"
	"taximeter/schemas"
)

// gauge is the latencies of one kind of result, from the instant it is due.
type gauge struct {
	due      func(n int) time.Time
	from, to time.Time // of the due instants that count

	mu        sync.Mutex // guards all below
	seen      map[int]bool
	latencies *hdrhistogram.Histogram // microseconds
	again     int64                   // results that came more than once
	early     int64                   // before they were due
}

// longest latency that the histogram tells apart.
const longest = 10 * time.Minute

func newGauge(due func(int) time.Time, from, to time.Time) *gauge {
	return &gauge{due: due, from: from, to: to, seen: make(map[int]bool), latencies: hdrhistogram.New(1, longest.Microseconds(), 3)}
}

func (g *gauge) read(n int, at time.Time) {
	due := g.due(n)
	if due.Before(g.from) || !due.Before(g.to) {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.seen[n] {
		g.again++
		return
	}
	g.seen[n] = true
	latency := at.Sub(due)
	if latency < 0 {
		g.early++
	}
	if err := g.latencies.RecordValue(min(max(latency, time.Microsecond), longest).Microseconds()); err != nil {
		panic(err) // within its bounds
	}
}

// reader tells the gauges what becomes readable, read_committed, on the output topics.
type reader struct {
	client  *kgo.Client
	decoder *oracle.Decoder
	alerts  *gauge
	bills   *gauge
}

func newReader(brokers []string, registryURL string, alerts, bills *gauge) (*reader, error) {
	d, err := oracle.NewDecoder(registryURL)
	if err != nil {
		return nil, err
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.ConsumeTopics(schemas.TopicAlerts, schemas.TopicPayments),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	return &reader{client, d, alerts, bills}, err
}

// run reads until ctx ends.
func (r *reader) run(ctx context.Context) error {
	defer r.client.Close()
	for {
		fetches := r.client.PollFetches(ctx)
		at := time.Now()
		if ctx.Err() != nil {
			return nil
		}
		if errs := fetches.Errors(); len(errs) > 0 {
			return fmt.Errorf("read %s: %w", errs[0].Topic, errs[0].Err)
		}
		for records := fetches.RecordIter(); !records.Done(); {
			if err := r.take(ctx, records.Next(), at); err != nil && ctx.Err() == nil {
				return err
			}
		}
	}
}

func (r *reader) take(ctx context.Context, rec *kgo.Record, at time.Time) error {
	if rec.Topic == schemas.TopicPayments {
		if _, probe := number(schemas.TripID(rec.Key)); !probe {
			return nil // the input is here too
		}
		b, err := r.decoder.Bill(ctx, rec.Value)
		if err != nil || b == nil {
			return err
		}
		if n, ok := number(b.TripID); ok {
			r.bills.read(n, at)
		}
		return nil
	}
	var a schemas.Alert
	if err := r.decoder.JSON(ctx, rec.Value, &a); err != nil {
		return err
	}
	if n, ok := number(a.TripID); ok {
		r.alerts.read(n, at)
	}
	return nil
}
