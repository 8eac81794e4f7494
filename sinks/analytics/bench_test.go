package analytics_test

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"taximeter/checkpoint"
	"taximeter/schemas"
	"taximeter/sinks"
	"taximeter/sinks/analytics"
)

// benchCommit measures commits of 5,000 rows, half of them trips and half windows, over tables
// of 200,000 trips: what our own process pays for a row.
func benchCommit(b *testing.B, d database) {
	const keys, size = 200_000, 2_500
	db, err := analytics.Open(b.Context(), d.fresh(b), namespace, slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	r := rand.New(rand.NewPCG(1, 1))
	var made checkpoint.Number
	put := func(it sinks.Item) {
		if err := db.Commit(b.Context(), at(made), at(made+1), []sinks.Item{it}); err != nil {
			b.Fatal(err)
		}
		made++
	}
	id := func(n int) string { return fmt.Sprintf("%08x-dead-4bee-8888-%012x", uint32(n)*2654435761, n) }
	for n := 0; n < keys; n += keys / 10 {
		it := item(made+1, nil)
		for i := range keys / 10 {
			it.Outbox.Trips = append(it.Outbox.Trips, trip(id(n+i), 100))
		}
		put(it)
	}
	var before, after syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &before); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		it := item(made+1, nil)
		for range size {
			n := r.IntN(keys)
			s := trip(id(n), schemas.Cents(n))
			s.End += schemas.Millis(made) * 60_000
			it.Outbox.Trips = append(it.Outbox.Trips, s)
			it.Outbox.Windows = append(it.Outbox.Windows, window(id(n), noon.Add(schemas.Millis(made)/10*300_000), int(made)))
		}
		put(it)
	}
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &after); err != nil {
		b.Fatal(err)
	}
	cpu := func(u *syscall.Rusage) time.Duration {
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	b.ReportMetric(float64((cpu(&after)-cpu(&before)).Nanoseconds())/1000/float64(b.N*2*size), "cpu-us/row")
}

func BenchmarkSQLite(b *testing.B) { benchCommit(b, embedded()) }
