package partition

import (
	"fmt"
	"testing"

	"taximeter/actors/rule"
	"taximeter/schemas"
)

// rows is a store over the changes of seals, for trips that are loaded by id only.
type rows map[string][]byte

func (r rows) Get(key []byte) ([]byte, bool, error) {
	b, ok := r[string(key)]
	return b, ok, nil
}

func (r rows) Due(DueTrip, schemas.Millis, int) ([]DueTrip, error) { return nil, nil }

// A swept trip must not be held by its timer, whose instant may be weeks away.
func TestSweptTripsLeaveTheTimersToo(t *testing.T) {
	store := rows{}
	p := New(0, Live, DefaultSettings(), &rule.Book{}, Direct{}, store, 0)
	const trips = 1000
	for round := range 3 {
		for i := range trips {
			r := schemas.Record{AppendedAt: schemas.NoTime, Offset: schemas.Offset(round*trips + i), Event: schemas.Event{Topic: schemas.Rides,
				Kind: schemas.RideRequest, TripID: schemas.TripID(fmt.Sprintf("c%d", i)), EventID: schemas.EventID(fmt.Sprintf("e%d", round)),
				At: schemas.MinInstant + schemas.Millis(i)}}
			if err := p.Consume(&schemas.Batch{Records: []schemas.Record{r}}, 0); err != nil {
				t.Fatal(err)
			}
		}
		store.apply(p.Seal(int64(round)).Changes)
		if evicted := p.Sweep(0, 0); evicted != trips || p.Resident() != 0 || len(p.timers) != 0 || len(p.dirty) != 0 {
			t.Fatalf("round %d: evicted %d; still %d trips, %d timers, %d dirty", round, evicted, p.Resident(), len(p.timers), len(p.dirty))
		}
	}
}

// A trip under way is woken as its windows close, and then waits for its end again: the
// instants that it no longer waits for must not pile up.
func TestTimersOfTripsUnderWayDoNotPileUp(t *testing.T) {
	const trips, points, every = 100, 12, 10 * schemas.Minute // longer than a window takes to close
	p := New(0, Live, DefaultSettings(), &rule.Book{}, Direct{}, rows{}, 0)
	offsets := [schemas.NumInputs]schemas.Offset{}
	take := func(e schemas.Event) {
		t.Helper()
		r := schemas.Record{AppendedAt: schemas.NoTime, Offset: offsets[e.Topic], Event: e}
		offsets[e.Topic]++
		if err := p.Consume(&schemas.Batch{Records: []schemas.Record{r}}, 0); err != nil {
			t.Fatal(err)
		}
	}
	start := schemas.MinInstant
	take(schemas.Event{Topic: schemas.Rides, Kind: schemas.RideRating, TripID: "clock", EventID: "ahead", At: start + schemas.Day})
	for n := range points {
		for i := range trips {
			take(schemas.Event{Topic: schemas.Telemetry, Kind: schemas.Position, Has: schemas.HasPosition, LatLon: schemas.LatLon{Lat: -23, Lon: -46},
				TripID: schemas.TripID(fmt.Sprintf("c%d", i)), EventID: schemas.EventID(fmt.Sprintf("e%d", n)), At: start + schemas.Millis(n)*every})
		}
		p.Seal(int64(n))
		p.Committed(int64(n))
		p.Sweep(1<<40, 1<<40)
		if timers := len(p.timers); timers > trips*5/4+1 {
			t.Fatalf("after %d positions of each: %d timers of %d trips", n+1, timers, p.Resident())
		}
	}
}

// rides makes records of ride events; offsets count up by themselves.
func rides() func(id schemas.TripID, at schemas.Millis) schemas.Record {
	next := schemas.Offset(0)
	return func(id schemas.TripID, at schemas.Millis) schemas.Record {
		next++
		return schemas.Record{AppendedAt: schemas.NoTime, Offset: next - 1, Event: schemas.Event{Topic: schemas.Rides,
			Kind: schemas.RideRequest, TripID: id, EventID: schemas.EventID(fmt.Sprint("e", next)), At: at}}
	}
}

func mustConsume(t *testing.T, p *Partition, records ...schemas.Record) {
	t.Helper()
	if err := p.Consume(&schemas.Batch{Records: records}, 0); err != nil {
		t.Fatal(err)
	}
}

// A sweep lets go of what the last seal has stored: it must not go on when the next cut is made.
func TestACutEndsASweep(t *testing.T) {
	store, ride := rows{}, rides()
	p := New(0, File, DefaultSettings(), &rule.Book{}, Direct{}, store, 0)
	mustConsume(t, p, ride("a", schemas.MinInstant), ride("b", schemas.MinInstant), ride("c", schemas.MinInstant))
	store.apply(p.Seal(1).Changes)
	p.StartSweep(0, 0)
	if evicted, over := p.SweepSome(1); evicted != 1 || over {
		t.Fatalf("evicted %d of one, over %v", evicted, over)
	}
	p.Cut(2)
	if evicted, over := p.SweepSome(3); evicted != 0 || !over || p.Resident() != 2 {
		t.Errorf("evicted %d behind the cut, over %v; %d trips stay", evicted, over, p.Resident())
	}
}

// A trip that begins again, while the sweep comes to what is left of its forerunner, stays.
func TestATripThatBeginsDuringASweepStays(t *testing.T) {
	settings := DefaultSettings()
	settings.Trip.Horizon, settings.Trip.OpenHorizon, settings.Trip.SummaryHorizon = schemas.Minute, schemas.Minute, schemas.Minute
	store, ride := rows{}, rides()
	p := New(0, File, settings, &rule.Book{}, Direct{}, store, 0)
	mustConsume(t, p, ride("a", schemas.MinInstant), ride("b", schemas.MinInstant+schemas.Day))
	if s := p.trips["a"]; !s.Trip.Expired() {
		t.Fatal("the first trip has not expired")
	}
	store.apply(p.Seal(1).Changes)
	p.StartSweep(1<<40, 1<<40)
	mustConsume(t, p, ride("a", schemas.MinInstant+schemas.Day))
	p.SweepSome(2)
	if s := p.trips["a"]; s == nil || s.Trip.Expired() {
		t.Error("the new trip is gone")
	}
}

func (r rows) apply(changes []Change) {
	for _, c := range changes {
		if c.Value == nil {
			delete(r, string(c.Key))
		} else {
			r[string(c.Key)] = c.Value
		}
	}
}
