package rule

import (
	"slices"
	"strings"

	"taximeter/schemas"
)

// OnPayment decides an effective AUTORIZACAO on its arrival. others are the trip's other
// effective ones, by ascending (At, ID).
//
// The version is chosen by the later payment of a pair, and that is also the alert's
// instant, whichever of the two arrived first.
func (m *Memory) OnPayment(b *Book, f *Facts, p Payment, others []Payment, out Emitter) {
	if !m.watches(b, doubleCharge) || len(others) == 0 {
		return
	}
	for i := range b.families {
		family := &b.families[i]
		if family.kinds&doubleCharge == 0 {
			continue
		}
		for _, o := range others {
			if o.ID == p.ID || o.Amount != p.Amount {
				continue
			}
			first, second := p, o
			if o.before(p) {
				first, second = o, p
			}
			v := family.inForce(second.At, f)
			if v == nil || v.kind != doubleCharge || second.At-first.At > v.duration || !m.remember(family.id, first.ID) {
				continue
			}
			e := episode{ruleID: family.id, onset: schemas.AppendPacked(nil, first.ID), onsetAt: first.At}
			out.Alert(e.alert(v, f, second.At, chargeDetails(v, first, second)))
		}
	}
}

func (p Payment) before(q Payment) bool {
	return p.At < q.At || p.At == q.At && p.ID < q.ID
}

// remember notes that a double charge is told; false = it was before.
func (m *Memory) remember(ruleID string, onset schemas.EventID) bool {
	told := m.told()
	for i := range told {
		if told[i].onset == onset && told[i].ruleID == ruleID {
			return false
		}
	}
	if len(told) == maxCharges {
		told = slices.Delete(told, 0, 1)
	}
	m.setTold(append(told, charge{ruleID, schemas.EventID(strings.Clone(string(onset)))}))
	return true
}
