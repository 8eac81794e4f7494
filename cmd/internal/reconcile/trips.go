package reconcile

import (
	"fmt"
	"maps"
	"slices"

	"taximeter/actors/partition"
	"taximeter/actors/trip"
	"taximeter/schemas"
)

// trips settles every trip of the stretch from the topics, and compares that with the state.
func (r *running) trips(l *ledger, state *cut) error {
	for _, id := range slices.Sorted(maps.Keys(l.trips)) {
		a := l.trips[id]
		if !r.concerns(a) {
			continue
		}
		word, captured := trip.Settlement(id, a.bill, a.payments, state.watermark)
		told, known, err := state.summary(id)
		if err != nil {
			return err
		}
		switch {
		case !known:
		case r.beyond(l, a), told.Reconciliation == "sem_resumo":
			word = told.Reconciliation // the log no longer holds all that the state has seen
		case told.Reconciliation != word && told.Reconciliation != "sem_termino":
			r.report.differ(kindState, state.partition, id, "the topics say %s, the state says %s", word, told.Reconciliation)
		}
		if known && a.bill != nil && (told.BillVersion != a.bill.Version || told.Amount != a.bill.Amount) {
			r.report.differ(kindState, state.partition, id, "the public bill is version %d, %s; the state has version %d, %s", a.bill.Version, a.bill.Amount, told.BillVersion, told.Amount)
		}
		r.note(state.partition, id, a, word, captured)
	}
	return nil
}

// note counts a trip, and tells it if it is not settled.
func (r *running) note(p schemas.Partition, id schemas.TripID, a *account, word string, captured schemas.Cents) {
	r.report.Trips[word]++
	currency, bill := "", "no bill"
	if len(a.payments) > 0 {
		currency = a.payments[0].Payment.Currency
	}
	sum := r.report.Money[currency]
	if a.bill != nil {
		currency, bill = a.bill.Currency, fmt.Sprintf("bill version %d of %s %s", a.bill.Version, a.bill.Amount, a.bill.Currency)
		sum = r.report.Money[currency]
		sum.Billed += a.bill.Amount
		r.bills[id] = billed{p, a.bill.Version, a.bill.Amount}
	}
	sum.Captured += captured
	r.report.Money[currency] = sum
	if slices.Contains(unsettled, word) {
		r.report.differ(word, p, id, "%s, captured %s %s in %d payments", bill, captured, currency, len(a.payments))
	}
}

// concerns reports whether a trip belongs to the stretch: by the end that its bill says,
// else by its last payment.
func (r *running) concerns(a *account) bool {
	at := schemas.NoTime
	if a.bill != nil {
		at = a.bill.End
	} else {
		for i := range a.payments {
			at = max(at, a.payments[i].At)
		}
	}
	return at >= r.From && at < r.Until
}

// beyond reports whether the log may have lost something of a trip: it has no bill there, or
// began before the oldest record.
func (r *running) beyond(l *ledger, a *account) bool {
	return l.since != schemas.NoTime && (a.bill == nil || a.bill.Start < l.since)
}

// summary is what the state says of a trip; false: it has forgotten it, or never knew it.
func (c *cut) summary(id schemas.TripID) (schemas.TripSummary, bool, error) {
	if c.store == nil {
		return schemas.TripSummary{}, false, nil
	}
	t, err := partition.ReadTrip(c.store, id)
	if err != nil || t == nil {
		return schemas.TripSummary{}, false, err
	}
	return t.Summary(c.watermark), true, nil
}
