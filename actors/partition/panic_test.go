package partition_test

import (
	"testing"

	"taximeter/actors/rule"
	"taximeter/schemas"
)

type panics struct{}

func (panics) Holds(*rule.Facts, schemas.Millis) (bool, error) { panic("boom") }

// A step that panics after it has billed: the trip remembers the bill, so it must come out.
func TestWhatAPanickingStepHasDecidedComesOut(t *testing.T) {
	book, err := rule.NewBook([]schemas.Rule{{RuleID: "x", Version: 1, Kind: "expressao", Active: true, Params: map[string]string{"expressao": "any"}}},
		func(string) (rule.Expression, error) { return panics{}, nil })
	if err != nil {
		t.Fatal(err)
	}
	s := eventFile(0)
	s.book = book
	p := s.fresh(tariffs(), nil, t0)
	ride := func(offset schemas.Offset, trip schemas.TripID, kind schemas.Kind, at schemas.Millis) schemas.Record {
		return schemas.Record{Offset: offset, AppendedAt: schemas.NoTime, Key: []byte(trip),
			Event: schemas.Event{Topic: schemas.Rides, Kind: kind, TripID: trip, EventID: schemas.EventID(kind.String()), At: at}}
	}
	p.SetRules(&rule.Book{})
	consume(t, p, []schemas.Record{ride(0, "t", schemas.RideStart, t0), ride(1, "other", schemas.RideStart, t0+schemas.Hour)}, t0)
	p.SetRules(book)
	consume(t, p, []schemas.Record{ride(2, "t", schemas.RideEnd, t0+schemas.Minute)}, t0)
	out, _ := p.Drain()
	if len(out.Bills) != 1 || out.Bills[0].TripID != "t" || len(out.DeadLetters) != 1 || out.DeadLetters[0].Reason != schemas.DLQPanic {
		t.Errorf("bills %+v, dead letters %+v; want the bill, and the event as a dead letter", out.Bills, out.DeadLetters)
	}
}
