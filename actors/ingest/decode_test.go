package ingest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/schemas"
	"taximeter/schemas/avro"
	"taximeter/schemas/codec"
)

// prepared is a lane's queue of n telemetry records as a fetch brings them, and a Source
// that has no client.
func prepared(tb testing.TB, n int) (*Source, *task, []*kgo.Record) {
	tb.Helper()
	decoder := codec.NewDecoder()
	if err := decoder.Learn(schemas.Telemetry, 1, avro.Telemetria); err != nil {
		tb.Fatal(err)
	}
	s := &Source{o: Options{Decoder: decoder, Namespace: "ns", AppendTimes: AppendTimesFromRecords}.withDefaults()}
	records := make([]*kgo.Record, n)
	for i := range records {
		r := schemas.TelemetryRecord{EventID: schemas.EventID(fmt.Sprintf("event-%032d", i)), TripID: "trip-0123456789", DriverID: "driver-0123456789",
			At: schemas.MinInstant + schemas.Millis(i), Lat: -23.5, Lon: -46.6}
		value, err := codec.AppendTelemetry(nil, 1, &r)
		if err != nil {
			tb.Fatal(err)
		}
		records[i] = &kgo.Record{Offset: int64(i), Key: []byte(r.TripID), Value: value, Timestamp: time.UnixMilli(1)}
	}
	return s, newTask(s, 0, [schemas.NumInputs]schemas.Offset{}, nil), records
}

// pass decodes the queue once, batch by batch.
func pass(s *Source, t *task, queue, records []*kgo.Record) (decoded int) {
	l := t.lanes[schemas.Telemetry]
	copy(queue, records) // the lane lets go of what it hands out
	l.queue, l.queued = l.queue[:0], 0
	l.push(queue)
	for _, l := range t.lanes {
		l.end = l.fetched
	}
	b := t.free[0]
	for l.queued > 0 {
		s.fill(b, t, time.Now())
		for piece := range b.Pieces {
			decoded += len(piece.Records)
		}
		b.entries, b.records = b.entries[:0], 0
	}
	return decoded
}

func TestDecodingAllocatesNothing(t *testing.T) {
	s, task, records := prepared(t, 3000)
	queue := make([]*kgo.Record, len(records))
	pass(s, task, queue, records) // the batch grows once
	allocs := testing.AllocsPerRun(10, func() {
		if n := pass(s, task, queue, records); n != len(records) {
			t.Fatalf("decoded %d of %d", n, len(records))
		}
	})
	if allocs > 1 { // the lane's own slice
		t.Errorf("%v allocations for %d events", allocs, len(records))
	}
}

func TestMergingAllocatesNothing(t *testing.T) {
	_, task := lanes(t, strings.Repeat("1 4 ", 300), strings.Repeat("2 3 ", 300), strings.Repeat("b1 c1 5 ", 300))
	if allocs := testing.AllocsPerRun(500, func() { task.first(time.Now()).pop() }); allocs != 0 {
		t.Errorf("%v allocations for a record", allocs)
	}
}

func BenchmarkDecode(b *testing.B) {
	s, task, records := prepared(b, 4096)
	queue := make([]*kgo.Record, len(records))
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		n += pass(s, task, queue, records)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/event")
}
