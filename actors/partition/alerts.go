package partition

import (
	"slices"

	"taximeter/schemas"
)

// alerts are those to send, and what an owner knows of those that earlier runs have sent.
type alerts struct {
	unsent   []schemas.Alert // decided, not yet acknowledged as sent
	suppress map[string]fact // known to be sent already, not yet reached again; by id
	standing []string        // of their ids those that may stand for a fact, in the order in which they were sent
}

// fact is what an alert tells of: the zero one stands for no other alert.
type fact struct {
	rule string
	trip schemas.TripID
}

func factOf(a *schemas.Alert) fact { return fact{a.RuleID, a.TripID} }

// Unsent is the alerts to send, oldest first. It stays valid until the next call of any
// other method.
func (p *Partition) Unsent() []schemas.Alert { return p.alerts.unsent }

// Acknowledge tells that the first n unsent alerts are durable on their topic.
func (p *Partition) Acknowledge(n int) { p.alerts.unsent = slices.Clone(p.alerts.unsent[n:]) }

// Recover takes what a new owner knows of alerts: those that the last cut left unsent, those
// found in the log of sent ones behind the cut's position, in its order, and ids that the last cut knew as sent.
//
// What lies behind the position was decided after the cut, by a run that may have seen the topics
// otherwise against each other. An episode begins with whatever came last, so replay may tell the
// same fact with another onset, and so with another id.
func (p *Partition) Recover(unsent []schemas.Alert, sent []schemas.SentAlert, seen []string) {
	l := &p.alerts
	if l.suppress == nil {
		l.suppress = make(map[string]fact)
	}
	for _, id := range seen {
		l.suppress[id] = fact{}
	}
	for _, a := range sent {
		l.suppress[a.AlertID] = fact{a.RuleID, a.TripID}
		l.standing = append(l.standing, a.AlertID)
	}
	for _, a := range unsent {
		if _, sent := l.suppress[a.AlertID]; sent {
			delete(l.suppress, a.AlertID)
		} else {
			l.unsent = append(l.unsent, a)
		}
	}
}

// decided takes an alert that was decided now.
func (l *alerts) decided(a *schemas.Alert) {
	if !l.alreadySent(a) {
		l.unsent = append(l.unsent, *a)
	}
}

// alreadySent reports whether an alert was sent before replay came to it. What is told under a
// new id was sent as the first that still stands for its rule and trip: their facts come in
// order, whatever their ids.
func (l *alerts) alreadySent(a *schemas.Alert) bool {
	own := factOf(a)
	if stood, sent := l.suppress[a.AlertID]; sent {
		if stood == own {
			l.passed(own, a.AlertID)
		}
		delete(l.suppress, a.AlertID)
		return true
	}
	for _, id := range l.standing {
		if l.suppress[id] == own {
			l.suppress[id] = fact{} // it stood for this one
			return true
		}
	}
	return false
}

// passed tells that replay came to an alert under its own id: what was sent of the same before
// it was no fact in this order, and stands for none that is to come.
func (l *alerts) passed(own fact, reached string) {
	for _, id := range l.standing {
		if id == reached {
			return
		}
		if l.suppress[id] == own {
			l.suppress[id] = fact{}
		}
	}
}

// replayed tells that all was seen that an earlier run can have seen: what was sent and is not
// reached by now stands for no other alert.
func (l *alerts) replayed() {
	for id := range l.suppress {
		l.suppress[id] = fact{}
	}
	l.standing = nil
}
