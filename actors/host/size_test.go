package host_test

import (
	"fmt"
	"runtime"
	"slices"
	"testing"

	"taximeter/actors/host"
	"taximeter/actors/partition"
	"taximeter/actors/rule"
	"taximeter/checkpoint"
	"taximeter/schemas"
)

// forgetful is a State that keeps nothing: the tests here never ask again, as long as no
// two ids of a trip have one fingerprint.
type forgetful struct{}

func (forgetful) Get([]byte) ([]byte, bool, error) { return nil, false, nil }
func (forgetful) Due(partition.DueTrip, schemas.Millis, int) ([]partition.DueTrip, error) {
	return nil, nil
}
func (forgetful) Apply([]partition.Change) error   { return nil }
func (forgetful) Snapshot() (host.Snapshot, error) { return nil, nil }

// A million live trips must fit a small machine: this is a trip on its way for twenty
// minutes with all that is kept for it, its actor included. With so few, each has a shard
// of the actor system's registry for itself, of 264 bytes; a million trips have some 70 each
// (bench/scale).
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
		{schemas.Minute, 2050},
		{10 * schemas.Second, 2650},
	} {
		t.Run(fmt.Sprintf("a position every %d s", c.every/schemas.Second), func(t *testing.T) {
			const trips = 2000
			r := newRunOn(t, book, forgetful{}, 2*trips)
			f := &traffic{run: r, batch: schemas.Batch{Partition: 3, Records: make([]schemas.Record, trips)}}
			empty := alive()
			f.begin()
			number := checkpoint.SealNumber(0)
			for at := schemas.Millis(0); at < 20*schemas.Minute; at += c.every {
				f.positions(at)
				if at%(30*schemas.Second) == 0 { // as a node seals
					number++
					r.seal(int64(number))
					r.send(&host.Committed{Number: number})
				}
			}
			for range trips / 100 { // each answer comes behind some more of the last sweep
				_ = r.ask(&host.ViewQuery{Trip: "none"})
			}
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

// traffic is trips on their way, over one batch of records. Ids of events are versions
// of their trips' ids.
type traffic struct {
	*run
	batch schemas.Batch
	sent  int
}

// begin gives each trip what comes before the positions.
func (f *traffic) begin() {
	f.deliver(schemas.RideRating, t0+30*schemas.Day, "clock of the rides") // positions drive the watermark
	for _, kind := range []schemas.Kind{schemas.RideMatch, schemas.RideStart} {
		f.send(schemas.Event{Topic: schemas.Rides, Kind: kind, At: t0, Has: schemas.HasRegion | schemas.HasCategory,
			Ride: schemas.RideDetail{Region: "sao-paulo", Category: "economico"}})
	}
}

// positions gives each trip one, at the same pace.
func (f *traffic) positions(at schemas.Millis) {
	f.send(schemas.Event{Topic: schemas.Telemetry, Kind: schemas.Position, Has: schemas.HasPosition, At: t0 + at,
		LatLon: schemas.LatLon{Lat: -23.55 + 1e-7*float64(at), Lon: -46.63}})
}

func (f *traffic) send(e schemas.Event) {
	for i := range f.batch.Records {
		var raw [16]byte
		copy(raw[:], fmt.Sprintf("%06d%010d", i, f.sent))
		r := schemas.Record{AppendedAt: schemas.NoTime, Event: e, Offset: f.offset[e.Topic]}
		r.TripID = schemas.TripID(fmt.Sprintf("4e9cd96b-c85b-50b7-8157-%012x", i))
		r.Key, r.EventID = []byte(r.TripID), schemas.EventID(fmt.Sprintf("%x-%x-%x-%x-%x", raw[:4], raw[4:6], raw[6:8], raw[8:10], raw[10:]))
		f.offset[e.Topic]++
		f.batch.Records[i] = r
	}
	f.sent++
	released := make(chan struct{})
	f.run.send(&host.Delivery{Pieces: slices.Values([]*schemas.Batch{&f.batch}), Release: func() { close(released) }})
	<-released
	clear(f.batch.Records)
}
