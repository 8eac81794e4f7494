package partition

import (
	"testing"

	"taximeter/actors/rule"
	"taximeter/schemas"
)

// What was found ahead may have expired, and begun again, before its record's turn comes.
func TestATripThatBeginsAgainWithinABatchStays(t *testing.T) {
	settings := DefaultSettings()
	settings.Trip.Horizon, settings.Trip.OpenHorizon, settings.Trip.SummaryHorizon = schemas.Minute, schemas.Minute, schemas.Minute
	ride := rides()
	p := New(0, File, settings, &rule.Book{}, Direct{}, rows{}, 0)
	mustConsume(t, p, ride("a", schemas.MinInstant))
	later := schemas.MinInstant + schemas.Day
	again := []schemas.Record{ride("b", later), ride("a", later), ride("a", later)}
	again[2].EventID = again[1].EventID
	mustConsume(t, p, again...)
	if v := p.Ledger().Verdicts; v[schemas.Counted] != 3 || v[schemas.Duplicate] != 1 {
		t.Errorf("%v: the second record of the trip did not find what the first had left", v)
	}
}
