package oracle

import (
	"testing"

	"taximeter/schemas"
)

func TestCompareSeesEveryFact(t *testing.T) {
	bill := schemas.Bill{TripID: "t", Version: 2, EventID: "e", Amount: 1000, Difference: 3, DistanceMM: 5, Rectification: true}
	window := schemas.Window{TripID: "t", Start: 300_000, Version: 1, Points: 3, DistanceMM: 7}
	make := func(b schemas.Bill, w schemas.Window) *Results {
		r := newResults()
		r.bill(b)
		r.window(w)
		return r
	}
	history, voided, emptied := bill, bill, window
	history.Version, history.EventID, history.Difference, history.Rectification = 1, "f", 0, false
	voided.Motive, voided.Version = schemas.MotiveVoided, 3
	emptied.Points = 0
	dearer, longer, elsewhere := bill, window, window
	dearer.Amount++
	longer.DistanceMM++
	elsewhere.Start += 300_000
	for _, c := range []struct {
		name      string
		got, want *Results
		n         int
	}{
		{"same", make(bill, window), make(bill, window), 0},
		{"another history", make(history, window), make(bill, window), 0},
		{"another amount", make(dearer, window), make(bill, window), 1},
		{"another distance", make(bill, longer), make(bill, window), 1},
		{"another window", make(bill, elsewhere), make(bill, window), 2},
		{"lost", newResults(), make(bill, window), 2},
		{"made up", make(bill, window), newResults(), 2},
		{"void is none", make(voided, emptied), newResults(), 0},
		{"void is not a bill", make(voided, window), make(bill, window), 1},
	} {
		if n, some := Compare(c.got, c.want); n != c.n {
			t.Errorf("%s: %d differences, want %d: %q", c.name, n, c.n, some)
		}
	}
}
