package partition_test

import (
	"fmt"
	"math"

	"pgregory.net/rapid"

	"taximeter/actors/internal/oracle"
	"taximeter/actors/partition"
	"taximeter/actors/trip"
	"taximeter/schemas"
)

type windowKey struct {
	trip  schemas.TripID
	start schemas.Millis
}

// published is what readers of the output topics end up with: every version of every
// bill, and the highest version of every window.
type published struct {
	bills   map[schemas.TripID][]schemas.Bill
	windows map[windowKey]schemas.Window
}

func newPublished() published {
	return published{map[schemas.TripID][]schemas.Bill{}, map[windowKey]schemas.Window{}}
}

// take publishes an outbox, and checks what holds of any history of versions.
func (p published) take(t rapid.TB, o schemas.Outbox) {
	t.Helper()
	for _, b := range o.Bills {
		versions := p.bills[b.TripID]
		if b.Version != len(versions)+1 {
			t.Fatalf("bill %s: version %d after version %d", b.TripID, b.Version, len(versions))
		}
		before := schemas.Cents(0)
		if len(versions) > 0 {
			last := versions[len(versions)-1]
			before = last.Amount
			last.Version, last.EventID, last.Difference, last.Rectification = b.Version, b.EventID, b.Difference, b.Rectification
			if last == b {
				t.Fatalf("bill %s: version %d changes nothing: %+v", b.TripID, b.Version, b)
			}
		}
		if b.Difference != b.Amount-before || b.Rectification != (b.Version > 1) || b.EventID != schemas.BillEventID(b.TripID, b.Version) {
			t.Fatalf("bill %s: version %d over %s: %+v", b.TripID, b.Version, before, b)
		}
		p.bills[b.TripID] = append(versions, b)
	}
	for _, w := range o.Windows {
		k := windowKey{w.TripID, w.Start}
		if w.Version != p.windows[k].Version+1 {
			t.Fatalf("window %s %s: version %d after %d", w.TripID, w.Start, w.Version, p.windows[k].Version)
		}
		p.windows[k] = w
	}
	for _, l := range o.DeadLetters {
		if l.Reason == schemas.DLQPanic {
			t.Fatalf("trip %s panicked: %s", l.TripID, l.Detail)
		}
	}
}

// bill is the newest version of a trip's bill; nil = none, or void.
func (p published) bill(trip schemas.TripID) *schemas.Bill {
	versions := p.bills[trip]
	if len(versions) == 0 || versions[len(versions)-1].Motive == schemas.MotiveVoided {
		return nil
	}
	return &versions[len(versions)-1]
}

// millimetresApart is how far two readings of one distance may be: the oracle's
// haversine is by package math, the meter's by its own trigonometry. The property tests
// found none apart; the tolerance is for the recordings.
const millimetresApart = 0

// mustEqual compares the finals of a run with the oracle's.
func mustEqual(t rapid.TB, p *partition.Partition, got published, want oracle.Finals) {
	t.Helper()
	for id, w := range want.Trips {
		if diff := compareBill(got.bill(id), w.Bill); diff != "" {
			t.Errorf("trip %s: %s", id, diff)
		}
		if v, known, err := p.View(id); err != nil || !known || reconciled(v) != w.Status {
			t.Errorf("trip %s: reconciliation %q, want %q (%v)", id, v.Reconciliation, w.Status, err)
		} else if v.Stage != "detalhe" {
			t.Errorf("trip %s: an event file has no horizon, yet the detail is gone", id)
		}
		for start, window := range w.Windows {
			if diff := compareWindow(got.windows[windowKey{id, start}], window); diff != "" {
				t.Errorf("trip %s, window %s: %s", id, start, diff)
			}
		}
	}
	for k, w := range got.windows {
		if _, ok := want.Trips[k.trip].Windows[k.start]; !ok && w.Points+w.Rejected > 0 {
			t.Errorf("trip %s: window %s should be empty: %+v", k.trip, k.start, w)
		}
	}
	for id := range got.bills {
		if _, ok := want.Trips[id]; !ok {
			t.Errorf("trip %s has a bill and no accepted event", id)
		}
	}
}

// reconciled is the status, where "nothing is owed and nothing was paid" has two words: it
// is pendente of a trip never billed, and ok of one whose bill became void.
func reconciled(v trip.View) string {
	if v.Reconciliation == "pendente" || v.Reconciliation == "sem_termino" || v.Reconciliation == "ok" && v.Bill.Motive == schemas.MotiveVoided {
		return ""
	}
	return v.Reconciliation
}

func compareBill(got *schemas.Bill, want *oracle.Bill) string {
	switch {
	case got == nil && want == nil:
		return ""
	case got == nil:
		return fmt.Sprintf("no bill, want %+v", *want)
	case want == nil:
		return fmt.Sprintf("bill %+v, want none", *got)
	}
	motive := schemas.MotiveNone
	switch {
	case want.Cancelled:
		motive = schemas.MotiveCancelled
	case want.Inferred:
		motive = schemas.MotiveNoStartSeen
	}
	expected := *got // all but the history of versions
	expected.Amount, expected.DistanceMM, expected.DurationS, expected.Start, expected.End = want.Amount, want.DistanceMM, want.DurationS, want.Start, want.End
	expected.Currency, expected.TariffID, expected.Region, expected.Category, expected.Multiplier = want.Currency, want.TariffID, want.Region, want.Category, want.Multiplier
	expected.Points, expected.Rejected, expected.Motive = want.Points, want.Rejected, motive
	if *got != expected {
		return fmt.Sprintf("bill %+v, want %+v", *got, expected)
	}
	return ""
}

func compareWindow(got schemas.Window, want oracle.Window) string {
	instant := func(p *schemas.Millis) schemas.Millis {
		if p == nil {
			return schemas.NoTime
		}
		return *p
	}
	speed := func(p *float64) float64 {
		if p == nil {
			return 0
		}
		return *p
	}
	off := got.DistanceMM - want.DistanceMM
	near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Max(1, b) }
	if got.Version == 0 || got.Points != want.Points || got.Rejected != want.Rejected || got.TimeMS != want.TimeMS ||
		max(off, -off) > millimetresApart*int64(want.Segments) || instant(got.First) != want.First || instant(got.Last) != want.Last ||
		!near(speed(got.MaxKmh), want.MaxKmh) || !near(speed(got.MeanKmh), want.MeanKmh) {
		return fmt.Sprintf("%+v, want %+v", got, want)
	}
	return ""
}

// mustBalance checks the identity of the contract: verdicts, control and skipped sum to the
// offsets consumed.
func mustBalance(t rapid.TB, p *partition.Partition) {
	t.Helper()
	offsets := int64(0)
	for _, topic := range schemas.Inputs {
		pos := p.Position(topic)
		offsets += int64(pos.Next-pos.First) - pos.Control - pos.Skipped
	}
	for _, n := range p.Ledger().Verdicts {
		offsets -= n
	}
	if offsets != 0 {
		t.Errorf("%d offsets consumed without a verdict: %+v", offsets, p.Ledger())
	}
}
