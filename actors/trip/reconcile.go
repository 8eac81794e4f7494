package trip

import (
	"taximeter/actors/rule"
	"taximeter/actors/tariff"
	"taximeter/schemas"
)

// Reconcile compares the newest bill with what was paid: ok, divergente, nao_paga,
// paga_sem_fatura, sem_resumo, sem_termino (silent for hours without an end, nothing billed
// or paid), or pendente while bill or payment may still come.
func (s *State) Reconcile(watermark schemas.Millis) string {
	captured, paid := s.captured()
	last := s.billing.last
	switch {
	case s.noSummary:
		return "sem_resumo"
	case (last == nil || last.Motive == schemas.MotiveVoided) && captured != 0:
		return "paga_sem_fatura" // a void bill is none, whether or not one was ever published
	case last == nil && s.noEndTold && !s.story.ended():
		return "sem_termino"
	case last == nil:
		return pending
	case captured == last.Amount:
		return "ok"
	case paid:
		return "divergente"
	case watermark >= unpaidFrom(last):
		return "nao_paga"
	}
	return pending
}

// pending is the word while bill or payment may still come.
const pending = "pendente"

// unpaidFrom is the watermark from which on a bill for which nothing was captured is nao_paga.
func unpaidFrom(b *schemas.Bill) schemas.Millis { return b.End.Add(schemas.Day) }

// captured is what was captured less what was refunded, and whether anything was captured.
func (s *State) captured() (sum schemas.Cents, paid bool) {
	for i := range s.payments {
		p := &s.payments[i]
		switch {
		case p.void:
		case p.kind == schemas.PayCapture, p.kind == schemas.PayAuthorization && p.means == cash:
			sum += p.amount
			paid = true
		case p.kind == schemas.PayRefund:
			sum -= p.amount
		}
	}
	return sum, paid
}

// cash is the means of payment that is captured when it is authorised.
const cash = "DINHEIRO"

// Settlement is Reconcile for who holds a trip's newest bill (nil = none) and its accepted
// payments in the order of their offsets, and not the trip; with what was captured.
func Settlement(id schemas.TripID, bill *schemas.Bill, payments []schemas.Event, watermark schemas.Millis) (word string, captured schemas.Cents) {
	settings := DefaultSettings()
	env := Env{Settings: &settings, Tariffs: &tariff.Catalogue{}, Rules: &rule.Book{}, Watermark: watermark, Out: &Effects{}}
	s := New(id)
	for i := range payments {
		if _, seen := s.seen(&payments[i]); !seen {
			s.applyPayment(&env, &payments[i], schemas.Counted)
		}
	}
	s.billing.last = bill
	captured, _ = s.captured()
	return s.Reconcile(watermark), captured
}
