package oracle

import (
	"fmt"
	"reflect"

	"taximeter/schemas"
)

// Results are the bills and windows that stand.
type Results struct {
	Bills   map[schemas.TripID]schemas.Bill
	Windows map[WindowKey]schemas.Window
}

// WindowKey identifies a window across its versions.
type WindowKey struct {
	Trip  schemas.TripID
	Start schemas.Millis
}

func newResults() *Results {
	return &Results{Bills: make(map[schemas.TripID]schemas.Bill), Windows: make(map[WindowKey]schemas.Window)}
}

func (r *Results) bill(b schemas.Bill) {
	if b.Version > r.Bills[b.TripID].Version {
		r.Bills[b.TripID] = b
	}
}

func (r *Results) window(w schemas.Window) {
	k := WindowKey{w.TripID, w.Start}
	if w.Version > r.Windows[k].Version {
		r.Windows[k] = w
	}
}

// Compare counts the bills and windows that one side lacks or has otherwise. Some of them
// are told, to begin a search with.
func Compare(got, want *Results) (differences int, some []string) {
	tell := func(format string, args ...any) {
		if differences++; len(some) < 10 {
			some = append(some, fmt.Sprintf(format, args...))
		}
	}
	both(got.Bills, want.Bills, billFacts, tell)
	both(got.Windows, want.Windows, windowFacts, tell)
	return differences, some
}

func both[K comparable, V any](got, want map[K]V, facts func(V) (V, bool), tell func(string, ...any)) {
	for k, w := range want {
		w, expected := facts(w)
		g, found := got[k]
		if found {
			g, found = facts(g)
		}
		if expected != found || found && !reflect.DeepEqual(g, w) {
			tell("%T %v: published (%t) %+v, simulated (%t) %+v", w, k, found, g, expected, w)
		}
	}
	for k, g := range got {
		if _, known := want[k]; known {
			continue
		}
		if g, found := facts(g); found {
			tell("%T %v: published %+v, not simulated", g, k, g)
		}
	}
}

// billFacts is what does not depend on the order of arrival. A voided bill stands for none:
// in another order it would never have been issued.
func billFacts(b schemas.Bill) (schemas.Bill, bool) {
	b.Version, b.EventID, b.Difference, b.Rectification = 0, "", 0, false
	return b, b.Motive != schemas.MotiveVoided
}

// windowFacts is the same for windows; one emptied again stands for none.
func windowFacts(w schemas.Window) (schemas.Window, bool) {
	w.Version, w.Verdict = 0, schemas.Counted
	return w, w.Points+w.Rejected > 0
}
