package host_test

import (
	"fmt"
	"runtime"
	"testing"

	"taximeter/actors/host"
	"taximeter/actors/partition"
	"taximeter/actors/rule"
	"taximeter/schemas"
)

// forgetful is a State that keeps nothing: the tests here never ask again.
type forgetful struct{}

func (forgetful) Get([]byte) ([]byte, bool, error) { return nil, false, nil }
func (forgetful) Due(partition.DueTrip, schemas.Millis, int) ([]partition.DueTrip, error) {
	return nil, nil
}
func (forgetful) Apply([]partition.Change) error   { return nil }
func (forgetful) Snapshot() (host.Snapshot, error) { return nil, nil }

// A million live trips must fit a small machine: this is a trip on its way for twenty
// minutes with all that is kept for it, its actor included.
func TestWhatALiveTripTakes(t *testing.T) {
	rules := []schemas.Rule{
		{RuleID: "parada-longa", Version: 1, Kind: "parada", Active: true},
		{RuleID: "excesso", Version: 1, Kind: "velocidade", Active: true, Params: map[string]string{"limiarKmh": "110", "pontos": "2"}},
		{RuleID: "sinal", Version: 1, Kind: "sem_sinal", Active: true, Params: map[string]string{"duracaoMin": "5"}},
	}
	book, err := rule.NewBook(rules, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		every schemas.Millis
		most  int64
	}{
		{schemas.Minute, 4300},
		{10 * schemas.Second, 13_000},
	} {
		t.Run(fmt.Sprintf("a position every %d s", c.every/schemas.Second), func(t *testing.T) {
			const trips = 2000
			r := newRunOn(t, book, forgetful{}, 2*trips)
			empty := alive()
			drive(r, trips, c.every, 20*schemas.Minute)
			r.seal(1)
			r.send(&host.Committed{Number: 1})
			_ = r.ask(&host.ViewQuery{Trip: "none"}) // behind it
			each := (alive() - empty) / trips
			if n := r.stats.Load().Resident; n != trips+1 {
				t.Fatalf("%d trips are in memory, want %d", n, trips+1)
			}
			t.Logf("%d bytes a trip", each)
			if each > c.most {
				t.Errorf("%d bytes a trip, want at most %d", each, c.most)
			}
			runtime.KeepAlive(r)
		})
	}
}

func alive() int64 {
	runtime.GC()
	runtime.GC() // what finalizers let go
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// drive gives each of so many trips a start and positions at an even pace.
func drive(r *run, trips int, every, span schemas.Millis) {
	r.deliver(schemas.RideRating, t0+30*schemas.Day, "clock of the rides") // positions drive the watermark
	send := func(n int, step func(e *schemas.Event)) {
		b := &schemas.Batch{Partition: 3}
		for i := range trips {
			var raw [16]byte
			copy(raw[:], fmt.Sprintf("%06d%010d", i, n))
			trip := schemas.TripID(fmt.Sprintf("4e9cd96b-c85b-50b7-8157-%012x", i))
			rec := schemas.Record{AppendedAt: schemas.NoTime, Key: []byte(trip)}
			rec.TripID, rec.EventID = trip, schemas.EventID(fmt.Sprintf("%x-%x-%x-%x-%x", raw[:4], raw[4:6], raw[6:8], raw[8:10], raw[10:]))
			step(&rec.Event)
			rec.Offset = r.offset[rec.Topic]
			r.offset[rec.Topic]++
			b.Records = append(b.Records, rec)
		}
		released := make(chan struct{})
		r.send(&host.Delivery{Batch: b, Release: func() { close(released) }})
		<-released
	}
	for i, kind := range []schemas.Kind{schemas.RideMatch, schemas.RideStart} {
		send(i, func(e *schemas.Event) {
			e.Topic, e.Kind, e.At, e.Has = schemas.Rides, kind, t0, schemas.HasRegion|schemas.HasCategory
			e.Ride = schemas.RideDetail{Region: "sao-paulo", Category: "economico"}
		})
	}
	for n := range int(span / every) {
		send(2+n, func(e *schemas.Event) {
			e.Topic, e.Kind, e.Has, e.At = schemas.Telemetry, schemas.Position, schemas.HasPosition, t0+schemas.Millis(n)*every
			e.LatLon = schemas.LatLon{Lat: -23.55 + 1e-7*float64(n)*float64(every), Lon: -46.63}
		})
	}
}
