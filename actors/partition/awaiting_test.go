package partition_test

import (
	"testing"

	"taximeter/schemas"
)

// A trip that only lacks a tariff is billed when one comes, also when it is not in memory.
func TestATariffFindsTripsThatWaitInTheStore(t *testing.T) {
	s := eventFile(0)
	p := s.fresh(nil, nil, t0)
	ride := func(offset schemas.Offset, kind schemas.Kind, id schemas.EventID, at schemas.Millis) schemas.Record {
		return schemas.Record{Offset: offset, AppendedAt: schemas.NoTime, Key: []byte("t"),
			Event: schemas.Event{Topic: schemas.Rides, Kind: kind, TripID: "t", EventID: id, At: at}}
	}
	consume(t, p, []schemas.Record{ride(0, schemas.RideStart, "a", t0), ride(1, schemas.RideEnd, "b", t0+schemas.Minute),
		ride(2, schemas.RideRating, "c", t0+schemas.Hour)}, t0)
	rows := memStore{}
	rows.apply(p.Seal(1).Changes)
	p = s.restore(t, rows, t0)
	if err := p.PutTariff(0, schemas.Tariff{TariffID: "any", Region: schemas.Any, Category: schemas.Any, Currency: "EUR", Minimum: 5_000_000}); err != nil {
		t.Fatal(err)
	}
	if out, _ := p.Drain(); len(out.Bills) != 1 || out.Bills[0].Amount != 500 {
		t.Errorf("after the tariff: %+v, want one bill of 5.00", out.Bills)
	}
}
