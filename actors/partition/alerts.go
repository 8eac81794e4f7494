package partition

import (
	"slices"

	"taximeter/schemas"
)

// Unsent is the alerts to send, oldest first. It stays valid until the next call of any
// other method.
func (p *Partition) Unsent() []schemas.Alert { return p.unsent }

// Acknowledge tells that the first n unsent alerts are durable on their topic.
func (p *Partition) Acknowledge(n int) { p.unsent = slices.Clone(p.unsent[n:]) }

// fact is what an alert tells of: the zero one stands for no other alert.
type fact struct {
	rule string
	trip schemas.TripID
}

// Recover takes what a new owner knows of alerts: those that the last cut left unsent, those
// found in the log of sent ones behind the cut's position, in its order, and ids that the last cut knew as sent.
//
// What lies behind the position was decided after the cut, by a run that may have seen the topics
// otherwise against each other. An episode begins with whatever came last, so replay may tell the
// same fact with another onset, and so with another id.
func (p *Partition) Recover(unsent []schemas.Alert, sent []schemas.SentAlert, seen []string) {
	if p.suppress == nil {
		p.suppress = make(map[string]fact)
	}
	for _, id := range seen {
		p.suppress[id] = fact{}
	}
	for _, a := range sent {
		p.suppress[a.AlertID] = fact{a.RuleID, a.TripID}
		p.standing = append(p.standing, a.AlertID)
	}
	for _, a := range unsent {
		if _, sent := p.suppress[a.AlertID]; sent {
			delete(p.suppress, a.AlertID)
		} else {
			p.unsent = append(p.unsent, a)
		}
	}
}

// alreadySent reports whether an alert was sent before replay came to it. What is told under a
// new id was sent as the first that still stands for its rule and trip: their facts come in
// order, whatever their ids.
func (p *Partition) alreadySent(a *schemas.Alert) bool {
	if _, sent := p.suppress[a.AlertID]; sent {
		delete(p.suppress, a.AlertID)
		return true
	}
	for _, id := range p.standing {
		if p.suppress[id] == (fact{a.RuleID, a.TripID}) {
			p.suppress[id] = fact{} // it stood for this one
			return true
		}
	}
	return false
}

// replayed tells that all was seen that an earlier run can have seen: what was sent and is not
// reached by now stands for no other alert.
func (p *Partition) replayed() {
	for id := range p.suppress {
		p.suppress[id] = fact{}
	}
	p.standing = nil
}
