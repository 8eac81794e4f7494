package trip

import (
	"slices"

	"taximeter/schemas"
)

// payment is one accepted event of pagamentos.eventos.
type payment struct {
	at            schemas.Millis
	amount        schemas.Cents
	means         string
	id, rectifies idRef // in the trip's names
	kind          schemas.Kind
	void          bool
	verdict       schemas.Verdict
}

func (s *State) applyPayment(env *Env, e *schemas.Event, v schemas.Verdict) {
	p := payment{id: s.names.add(e.EventID), rectifies: s.nameOf(e.Rectifies), at: e.At, kind: e.Kind, verdict: v,
		amount: e.Payment.Amount, means: env.words.keep(e.Payment.Means)}
	s.insertPayment(p)
	switch e.Kind {
	case schemas.KindUnknown:
		env.Out.anomaly(schemas.AnomalyUnknownKind, s.id, e.EventID)
	default:
		s.link(e, s.findPayment, func(id schemas.EventID, effective bool) {
			s.paymentOf(id).void = !effective
		})
	}
	s.paid(env, e)
	s.event(env, e)
	s.reschedule(env)
}

func (s *State) insertPayment(p payment) {
	at, _ := slices.BinarySearchFunc(s.payments, p, func(a, b payment) int { return s.order(a.at, a.id, b.at, b.id) })
	s.payments = slices.Insert(roomFor(s.payments, 1, 1), at, p)
}

func (s *State) paymentMember(p *payment) member {
	return member{id: s.names.id(p.id), rectifies: s.names.id(p.rectifies), at: p.at, void: p.kind == schemas.Void}
}

// findPayment is findRide for payments.
func (s *State) findPayment(id schemas.EventID) (member, bool) {
	if p := s.paymentOf(id); p != nil && p.kind != schemas.KindUnknown {
		return s.paymentMember(p), true
	}
	return member{}, false
}

func (s *State) paymentOf(id schemas.EventID) *payment {
	var buf [64]byte
	entry := schemas.AppendPacked(buf[:0], id)
	for i := range s.payments {
		if s.names.is(s.payments[i].id, entry) {
			return &s.payments[i]
		}
	}
	return nil
}
