package trip

import (
	"maps"

	"taximeter/schemas"
)

// chains decides, for one topic of one trip, which events have effect when some
// rectify others. An event that neither rectifies nor is rectified is not in here: it
// always has effect.
//
// Of each set of events joined by links, also through an id that has not come, exactly
// one stands: the one that nobody rectifies; of several, the greatest by (At, ID); in a
// cycle, the greatest of all. A Void that stands leaves none with effect.
type chains struct {
	sets map[schemas.EventID]*chain // by every id that a set names, come or not
}

type chain struct {
	named     []schemas.EventID
	members   []member                 // those that have come
	rectified map[schemas.EventID]bool // ids that a member links to
}

func newChain(id schemas.EventID) *chain {
	return &chain{named: []schemas.EventID{id}, rectified: make(map[schemas.EventID]bool)}
}

// member is what chains needs to know of an event.
type member struct {
	id, rectifies schemas.EventID // rectifies "" = none
	at            schemas.Millis
	void          bool // an ANULACAO
}

func (m member) links() bool { return m.rectifies != "" && m.rectifies != m.id }

// touches reports whether an event concerns any chain. Cheap when there is none.
func (c *chains) touches(m member) bool {
	return m.links() || (c != nil && c.sets[m.id] != nil)
}

// chainsOf are a topic's; nil as long as no event links to another.
func (s *State) chainsOf(t schemas.Topic) *chains {
	if s.chains == nil {
		return nil
	}
	return &s.chains[t]
}

// chain enters an event that touches one.
func (s *State) chain(t schemas.Topic, m member, find func(schemas.EventID) (member, bool), report func(id schemas.EventID, effective bool)) {
	if s.chains == nil {
		s.chains = new([schemas.NumInputs]chains)
	}
	s.chains[t].add(m, find, report)
}

// add takes an event that touches a chain. find gives an event that came before, by id.
// The ids whose effect changed are reported; the new event itself counts as having had
// effect before.
func (c *chains) add(m member, find func(schemas.EventID) (member, bool), report func(id schemas.EventID, effective bool)) {
	if c.sets == nil {
		c.sets = make(map[schemas.EventID]*chain)
	}
	before := make(map[schemas.EventID]bool)
	set := c.include(m.id, nil, before)
	before[m.id] = true
	set.members = append(set.members, m)
	if m.links() {
		if c.sets[m.rectifies] == nil {
			target := newChain(m.rectifies)
			if t, came := find(m.rectifies); came {
				target.members = []member{t}
				before[t.id] = !t.void
			}
			c.sets[m.rectifies] = target
		}
		set = c.include(m.rectifies, set, before)
		set.rectified[m.rectifies] = true
	}
	standing := set.standing()
	for _, x := range set.members {
		if effective := x.id == standing; effective != before[x.id] {
			report(x.id, effective)
		}
	}
}

// include gives the set that names id, merged with another, and notes who stood in it.
func (c *chains) include(id schemas.EventID, with *chain, before map[schemas.EventID]bool) *chain {
	set := c.sets[id]
	if set == nil {
		set = newChain(id)
		c.sets[id] = set
	}
	if standing := set.standing(); standing != "" && with != set {
		before[standing] = true
	}
	if with == nil || with == set {
		return set
	}
	if len(with.named) > len(set.named) {
		set, with = with, set
	}
	set.named = append(set.named, with.named...)
	set.members = append(set.members, with.members...)
	maps.Copy(set.rectified, with.rectified)
	for _, n := range with.named {
		c.sets[n] = set
	}
	return set
}

// standing is the id of the one event with effect, or "" when a Void stands or none has come.
func (s *chain) standing() schemas.EventID {
	var best *member
	bestRectified := false
	for i := range s.members {
		m := &s.members[i]
		rectified := s.rectified[m.id]
		if best == nil || (bestRectified && !rectified) ||
			(bestRectified == rectified && later(m.at, m.id, best.at, best.id)) {
			best, bestRectified = m, rectified
		}
	}
	if best == nil || best.void {
		return ""
	}
	return best.id
}

// later orders events by (instant, id).
func later(at schemas.Millis, id schemas.EventID, thanAt schemas.Millis, thanID schemas.EventID) bool {
	return at > thanAt || (at == thanAt && id > thanID)
}
