package rule

import "taximeter/schemas"

// OnEvent decides the expressions on the arrival of any accepted event of the trip; f
// already counts it. A condition that becomes true alerts, with this event as its onset,
// and may do so again once it has been false.
//
// A late event is decided too, for it changes the facts; but by the version in force at
// the newest event time seen, for it is that state which the expression looks at.
func (m *Memory) OnEvent(b *Book, f *Facts, id schemas.EventID, at schemas.Millis, out Emitter) {
	if m.book != b || b.kinds&condition != 0 {
		m.onEvent(b, f, id, at, out)
	}
}

func (m *Memory) onEvent(b *Book, f *Facts, id schemas.EventID, at schemas.Millis, out Emitter) {
	if !m.watches(b, condition) {
		return
	}
	m.newestEvent = max(m.newestEvent, at)
	c := cursor{m: m}
	for i := range b.families {
		family := &b.families[i]
		if family.kinds&condition == 0 {
			continue
		}
		v := family.inForce(m.newestEvent, f)
		e := c.seek(family.id)
		endUnless(v, e, condition)
		if v == nil || v.kind != condition {
			continue
		}
		holds, err := v.expression.Holds(f, m.newestEvent)
		open := e != nil && e.kind == condition
		switch {
		case err != nil:
			out.RuleFailed(Failure{family.id, v.number, f.TripID, id, err})
		case holds && !open:
			e = c.open(e, family.id)
			e.begin(condition, id, at, schemas.LatLon{})
			e.fired = true
			out.Alert(e.alert(v, f, at, conditionDetails(v)))
		case !holds && open:
			e.end()
		}
	}
}
