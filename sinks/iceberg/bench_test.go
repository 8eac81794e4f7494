package iceberg

import (
	"context"
	"fmt"
	"log/slog"
	"testing"

	"taximeter/checkpoint"
	"taximeter/schemas"
	"taximeter/schemas/codec"
	"taximeter/sinks"
)

// BenchmarkCommitTelemetry is what an accepted position costs the lake, without reading it
// from Kafka: 200,000 of 2,000 trips a commit.
func BenchmarkCommitTelemetry(b *testing.B) {
	const events = 200_000
	dir := b.TempDir()
	w := &world{log: newMemoryLog(), cfg: Default(), clock: noon}
	w.cfg.Catalog, w.cfg.Warehouse.Folder = "sqlite:"+dir+"/catalog.db", dir+"/lake"
	l, err := Open(b.Context(), w.cfg, "ns", w.log, slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := l.Close(); err != nil {
			b.Error(err)
		}
	}()
	speed, precision, device := float32(31.5), float32(6), "android-14"
	records := lane{schemas.Telemetry, 0}
	for i := range events {
		rec := schemas.TelemetryRecord{EventID: schemas.EventID(fmt.Sprintf("%08x-0000-4000-8000-%012x", i*2654435761, i)), TripID: schemas.TripID(fmt.Sprintf("%08x-1111-4000-8000-%012x", i%2000*2654435761, i%2000)),
			DriverID: fmt.Sprintf("m-%06d", i%2000), At: noon + schemas.Millis(i), Lat: -19.9 - float64(i%977)/1e5, Lon: -43.9 + float64(i%1013)/1e5, SpeedKmh: &speed, PrecisionM: &precision, Device: &device}
		value, err := codec.AppendTelemetry(nil, idTelemetry, &rec)
		if err != nil {
			b.Fatal(err)
		}
		w.append(records, value)
	}
	made := checkpoint.Number(1)
	before := processor()
	for b.Loop() {
		span := schemas.VerdictSpan{Topic: schemas.Telemetry, Runs: []schemas.VerdictRun{{Verdict: schemas.Counted, Length: events}}}
		from := sinks.Progress{Made: made}
		if made == 1 {
			from.Made = 0
		}
		made++
		if err := l.Commit(context.Background(), from, sinks.Progress{Made: made}, []sinks.Item{item(0, made, span)}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64((processor()-before).Microseconds())/float64(b.N)/events, "us-cpu/event")
}
