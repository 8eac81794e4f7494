package oracle

import (
	"sort"

	"taximeter/schemas"
)

// effective lists the events of one topic of one trip that have effect, ascending by
// (ocorridoEm, eventId). events hold each (topic, eventId) once.
//
// A DESCONHECIDO voids nothing: its own link is no link.
func effective(events []schemas.Event, topic schemas.Topic) []schemas.Event {
	at := make(map[schemas.EventID]schemas.Event)
	for _, e := range events {
		if e.Topic == topic {
			at[e.EventID] = e
		}
	}
	group := make(map[schemas.EventID]schemas.EventID) // id, also one that never came -> name of its set
	rectified := make(map[schemas.EventID]bool)
	for id := range at {
		group[id] = id
	}
	for id, e := range at {
		x := e.Rectifies
		if x == "" || x == id || e.Kind == schemas.KindUnknown {
			continue
		}
		rectified[x] = true
		if _, ok := group[x]; !ok {
			group[x] = x
		}
		from, to := group[x], group[id]
		for member, g := range group {
			if g == from {
				group[member] = to
			}
		}
	}
	members := make(map[schemas.EventID][]schemas.Event)
	for id, e := range at {
		members[group[id]] = append(members[group[id]], e)
	}
	var out []schemas.Event
	for _, set := range members {
		var free []schemas.Event
		for _, e := range set {
			if !rectified[e.EventID] {
				free = append(free, e)
			}
		}
		if len(free) == 0 { // a cycle
			free = set
		}
		ascending(free)
		if e := free[len(free)-1]; e.Kind != schemas.Void && e.Kind != schemas.KindUnknown {
			out = append(out, e)
		}
	}
	ascending(out)
	return out
}

func ascending(events []schemas.Event) {
	sort.Slice(events, func(i, j int) bool {
		if events[i].At != events[j].At {
			return events[i].At < events[j].At
		}
		return events[i].EventID < events[j].EventID
	})
}
