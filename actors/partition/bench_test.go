package partition_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"unsafe"

	"taximeter/actors/partition"
	"taximeter/schemas"
)

// fleet is a partition with so many trips under way, each sending a position every four
// seconds of event time, in order.
type fleet struct {
	p       *partition.Partition
	records []schemas.Record // one of each trip, used again each round
	ids     [][36]byte       // the bytes under their event ids
	round   int
}

const fleetBatch = 500

func newFleet(tb testing.TB, trips int) *fleet {
	s := eventFile(160)
	s.mode = partition.Live
	s.settings = partition.DefaultSettings()
	f := &fleet{p: s.fresh(tariffs(), nil, t0), records: make([]schemas.Record, trips), ids: make([][36]byte, trips)}
	starts := make([]schemas.Record, trips)
	for i := range f.records {
		id := schemas.TripID(fmt.Sprintf("4e9cd96b-c85b-50b7-8157-%012x", i))
		copy(f.ids[i][:], fmt.Sprintf("%08x-c85b-50b7-8157-%012x", 0, i))
		starts[i] = schemas.Record{Offset: schemas.Offset(i), AppendedAt: schemas.NoTime, Event: schemas.Event{Topic: schemas.Rides,
			Kind: schemas.RideStart, TripID: id, EventID: "i", At: t0}}
		f.records[i] = schemas.Record{AppendedAt: schemas.NoTime, Key: []byte(id), Event: schemas.Event{Topic: schemas.Telemetry, Kind: schemas.Position,
			Has: schemas.HasPosition, TripID: id, EventID: schemas.EventID(unsafe.String(&f.ids[i][0], 36)), LatLon: schemas.LatLon{Lat: 41.15, Lon: -8.61}}}
	}
	// The rides' clock is ahead, so that telemetry's drives the watermark.
	starts = append(starts, schemas.Record{Offset: schemas.Offset(trips), AppendedAt: schemas.NoTime, Event: schemas.Event{Topic: schemas.Rides,
		Kind: schemas.RideRating, TripID: "another", EventID: "r", At: t0 + 30*schemas.Day}})
	f.consume(tb, starts)
	return f
}

func (f *fleet) consume(tb testing.TB, records []schemas.Record) {
	if err := f.p.Consume(&schemas.Batch{Records: records}, t0); err != nil {
		tb.Fatal(err)
	}
}

// drive feeds n positions; beginning in the middle of a round is fine.
func (f *fleet) drive(tb testing.TB, n int) {
	const digits = "0123456789abcdef"
	for n > 0 {
		at := f.round % len(f.records)
		size := min(n, fleetBatch, len(f.records)-at)
		beat := f.round / len(f.records)
		batch := f.records[at : at+size]
		for i := range batch {
			r, id := &batch[i], &f.ids[at+i]
			for d := range 8 {
				id[7-d] = digits[beat>>(4*d)&15]
			}
			r.At = t0 + schemas.Millis(beat+1)*4*schemas.Second
			r.Lat += 0.0005 // 55.6 m in 4 s: 50 km/h
			if r.Lat > 41.5 {
				r.Lat -= 0.0005 * 3
			}
			r.Offset = schemas.Offset(f.round + i)
		}
		f.consume(tb, batch)
		f.p.Drain() // what a window's close published
		f.round += size
		n -= size
	}
}

// BenchmarkTakeAnywhere has the trips' events come in another order than their memory lies in.
func BenchmarkTakeAnywhere(b *testing.B) {
	f := newFleet(b, 50_000)
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(f.records), func(i, j int) {
		f.records[i], f.records[j] = f.records[j], f.records[i]
		f.ids[i], f.ids[j] = f.ids[j], f.ids[i]
		f.records[i].EventID, f.records[j].EventID = f.records[j].EventID, f.records[i].EventID
	})
	f.drive(b, 500_000)
	b.ReportAllocs()
	b.ResetTimer()
	f.drive(b, b.N)
}

func BenchmarkTakeInOrder(b *testing.B) {
	f := newFleet(b, 100_000)
	f.drive(b, 300_000)
	b.ReportAllocs()
	b.ResetTimer()
	f.drive(b, b.N)
}

// The hot path does not allocate but for what lasts: the growth of a trip's track, and one
// object a window.
func TestTakeInOrderHardlyAllocates(t *testing.T) {
	f := newFleet(t, 100)
	f.drive(t, 200*100)
	const events = 7500 // of 100 trips: five minutes and their windows
	if perEvent := testing.AllocsPerRun(5, func() { f.drive(t, events) }) / events; perEvent > 0.05 {
		t.Errorf("%.3f allocations an event, want at most 0.05", perEvent)
	}
	if v := f.p.Ledger().Verdicts; v[schemas.Duplicate] != 0 || v[schemas.Counted] < events {
		t.Errorf("not what was to be measured: %v", v)
	}
}
