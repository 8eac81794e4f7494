package trip

import (
	"slices"

	"taximeter/schemas"
)

// ride is one accepted event of corridas.eventos.
type ride struct {
	at            schemas.Millis
	id, rectifies idRef               // in the trip's names
	detail        *schemas.RideDetail // shared with other events, also of other trips
	has           schemas.Fields
	kind          schemas.Kind
	void          bool // rectified by another
	verdict       schemas.Verdict
}

func (s *State) applyRide(env *Env, e *schemas.Event, v schemas.Verdict) {
	r := ride{id: s.names.add(e.EventID), rectifies: s.nameOf(e.Rectifies), at: e.At, kind: e.Kind, verdict: v, has: e.Has,
		detail: s.detailOf(&env.words, &e.Ride)}
	s.insertRide(r)
	switch e.Kind {
	case schemas.KindUnknown:
		env.Out.anomaly(schemas.AnomalyUnknownKind, s.id, e.EventID)
	default:
		s.link(e, s.findRide, func(id schemas.EventID, effective bool) {
			s.rideOf(id).void = !effective
		})
	}
	s.retell(env)
	s.tellExtra(env, &r)
	s.event(env, e)
	s.reschedule(env)
}

func (s *State) insertRide(r ride) {
	at, _ := slices.BinarySearchFunc(s.rides, r, func(a, b ride) int { return s.order(a.at, a.id, b.at, b.id) })
	s.rides = slices.Insert(roomFor(s.rides, 1, 2), at, r)
}

// nameOf keeps an id that may be none.
func (s *State) nameOf(id schemas.EventID) idRef {
	if id == "" {
		return 0
	}
	return s.names.add(id)
}

// detailOf keeps what a ride event says, once: most events of a trip say the same.
func (s *State) detailOf(w *words, d *schemas.RideDetail) *schemas.RideDetail {
	for i := range s.rides {
		if k := s.rides[i].detail; k.Region == d.Region && k.Category == d.Category && k.Multiplier == d.Multiplier && slices.Equal(k.Route, d.Route) {
			return k
		}
	}
	return w.detail(d)
}

// tellExtra notes an effective start or end that has no effect of its own as an anomaly.
func (s *State) tellExtra(env *Env, r *ride) {
	if s.rides[slices.IndexFunc(s.rides, func(o ride) bool { return o.id == r.id })].void {
		return
	}
	kind := schemas.AnomalyExtraStart
	switch r.kind {
	case schemas.RideStart:
	case schemas.RideEnd:
		kind = schemas.AnomalyExtraEnd
		if s.story.phase >= running && r.at < s.story.start {
			env.Out.anomaly(schemas.AnomalyEndBeforeStart, s.id, s.names.id(r.id))
			return
		}
	default:
		return
	}
	for i := range s.rides {
		o := &s.rides[i]
		if r.kind == schemas.RideEnd && s.story.phase >= running && o.at < s.story.start {
			continue // no end of this trip
		}
		if o.kind == r.kind && !o.void && o.id != r.id {
			env.Out.anomaly(kind, s.id, s.names.id(r.id))
			return
		}
	}
}

func (s *State) rideMember(r *ride) member {
	return member{id: s.names.id(r.id), rectifies: s.names.id(r.rectifies), at: r.at, void: r.kind == schemas.Void}
}

// findRide finds an event that a link may reach: an unknown kind voids nothing and
// cannot be voided, so for the chains it has not come.
func (s *State) findRide(id schemas.EventID) (member, bool) {
	if r := s.rideOf(id); r != nil && r.kind != schemas.KindUnknown {
		return s.rideMember(r), true
	}
	return member{}, false
}

func (s *State) rideOf(id schemas.EventID) *ride {
	var buf [64]byte
	entry := schemas.AppendPacked(buf[:0], id)
	for i := range s.rides {
		if s.names.is(s.rides[i].id, entry) {
			return &s.rides[i]
		}
	}
	return nil
}
