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
		for _, c := range p.Seal(int64(round)).Changes {
			store[string(c.Key)] = c.Value
		}
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
