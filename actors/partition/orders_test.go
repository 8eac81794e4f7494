package partition_test

import (
	"maps"
	"slices"
	"testing"

	"taximeter/actors/partition"
	"taximeter/schemas"
)

// What one run sees in one order and the next in another, or while a seal is being applied.

func positionOf(trip, id string, offset schemas.Offset, at schemas.Millis) schemas.Record {
	return schemas.Record{Offset: offset, Key: []byte(trip), AppendedAt: schemas.NoTime, Event: schemas.Event{Topic: schemas.Telemetry, Kind: schemas.Position,
		TripID: schemas.TripID(trip), EventID: schemas.EventID(id), At: at, Has: schemas.HasPosition, LatLon: schemas.LatLon{Lat: 41, Lon: -8}}}
}

func rideOf(trip, id string, offset schemas.Offset, at schemas.Millis, kind schemas.Kind) schemas.Record {
	return schemas.Record{Offset: offset, Key: []byte(trip), AppendedAt: schemas.NoTime, Event: schemas.Event{Topic: schemas.Rides,
		Kind: kind, TripID: schemas.TripID(trip), EventID: schemas.EventID(id), At: at}}
}

// The live run sees a late point before time goes on, and tells the silence from there; replay sees
// it after, and decides the silence from the point before.
func TestASilenceIsToldOnceWhicheverPointItBeginsWith(t *testing.T) {
	s := eventFile(0)
	s.book = everyRule()
	s.mode = partition.Replay
	rows := memStore{}
	p := s.fresh(nil, rows, 0)
	consume(t, p, []schemas.Record{rideOf("c", "start", 0, t0, schemas.RideStart), positionOf("c", "p5", 0, t0)}, 0)
	rows.apply(p.Seal(1).Changes)
	elsewhere := []schemas.Record{positionOf("o", "o1", 1, t0+345*schemas.Second)}
	time := []schemas.Record{rideOf("x", "x1", 1, t0+345*schemas.Second, schemas.RideRating)}
	late := []schemas.Record{positionOf("c", "p6", 2, t0+100*schemas.Second)}
	silences := func(p *partition.Partition) (onsets []schemas.EventID) {
		for _, a := range p.Unsent() {
			if a.RuleID == "c" && a.TripID == "c" {
				onsets = append(onsets, a.OnsetID)
			}
		}
		return onsets
	}
	for _, some := range [][]schemas.Record{elsewhere, late, time} {
		consume(t, p, some, 0)
	}
	if got := silences(p); !slices.Equal(got, []schemas.EventID{"p6"}) {
		t.Fatalf("live: silences %v", got)
	}
	var sent []schemas.SentAlert
	for _, a := range p.Unsent() {
		sent = append(sent, schemas.SentAlert{AlertID: a.AlertID, RuleID: a.RuleID, TripID: a.TripID})
	}
	p = s.restore(t, maps.Clone(rows), 0)
	p.Recover(nil, sent, nil)
	for _, some := range [][]schemas.Record{elsewhere, time, late} {
		consume(t, p, some, 0)
	}
	if got := silences(p); len(got) != 0 {
		t.Errorf("replay told it again, from %v", got)
	}
}

// In whichever order a chain of rectifications comes, a window in which no point ever had an
// effect is not published.
func TestNoWindowWithoutAnEffectivePoint(t *testing.T) {
	rectifying := func(id, rectifies string, at schemas.Millis) schemas.Record {
		r := positionOf("c", id, 0, at)
		r.Rectifies = schemas.EventID(rectifies)
		return r
	}
	last, first, between := rectifying("s", "n", t0+11*schemas.Minute), rectifying("z", "y", t0), rectifying("n", "y", t0+6*schemas.Minute)
	for _, order := range [][]schemas.Record{{last, between, first}, {first, last, between}} {
		p := eventFile(0).fresh(nil, memStore{}, 0)
		for i := range order {
			order[i].Offset = schemas.Offset(i)
			consume(t, p, order[i:i+1], 0)
		}
		if err := p.EndInput(); err != nil {
			t.Fatal(err)
		}
		for _, w := range p.Seal(1).Outbox.Windows {
			if w.Start == t0+5*schemas.Minute {
				t.Errorf("order %s %s %s: %+v", order[0].EventID, order[1].EventID, order[2].EventID, w)
			}
		}
	}
}

// A trip expires at an instant: whether its rows are gone from the store by then changes no verdict.
func TestAnExpiredTripDoesNotComeBackFromTheStore(t *testing.T) {
	payment := func(offset schemas.Offset, at schemas.Millis) schemas.Record {
		return schemas.Record{Offset: offset, Key: []byte("x"), AppendedAt: schemas.NoTime, Event: schemas.Event{Topic: schemas.Payments,
			Kind: schemas.PayAuthorization, TripID: "x", EventID: "p1", At: at, Payment: schemas.PaymentDetail{Amount: 500}}}
	}
	const late = t0 + 50*schemas.Day
	for _, applied := range []bool{true, false} {
		s := eventFile(0)
		s.settings = partition.DefaultSettings()
		rows := memStore{}
		p := s.fresh(nil, rows, 0)
		consume(t, p, []schemas.Record{rideOf("clock", "1", 0, t0, schemas.RideRating), payment(0, t0)}, 0)
		rows.apply(p.Seal(1).Changes)
		consume(t, p, []schemas.Record{rideOf("clock", "2", 1, late-schemas.Day, schemas.RideRating), rideOf("clock", "3", 2, late, schemas.RideRating)}, 0)
		cut := p.Seal(2)
		if applied {
			rows.apply(cut.Changes)
			p.Sweep(1<<30, 1<<30)
		}
		before := p.Ledger().Verdicts
		consume(t, p, []schemas.Record{payment(1, late)}, 0)
		if after := p.Ledger().Verdicts; after[schemas.Duplicate] != before[schemas.Duplicate] || after[schemas.Counted] != before[schemas.Counted]+1 {
			t.Errorf("removal applied %t: %v, then %v", applied, before, after)
		}
	}
}
