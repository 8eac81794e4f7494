package trip

import "taximeter/schemas"

func (s *State) applyPosition(env *Env, e *schemas.Event, v schemas.Verdict) {
	i := s.track.insert(point{at: e.At, pos: e.LatLon, id: s.track.ids.add(e.EventID), verdict: v, part: noPart})
	s.fresh++
	m := member{id: e.EventID, rectifies: e.Rectifies, at: e.At}
	chained := s.chainsOf(schemas.Telemetry).touches(m)
	if i == len(s.track.points)-1 && !chained {
		s.applyInOrder(env, e, v, i)
		return
	}
	var touched [4]earlier
	r := revision{t: &s.track, maxKmh: env.Settings.MaxSpeedKmh, until: s.story.until(), windows: touched[:0]}
	if chained {
		s.linkPosition(m, &r)
	}
	if s.track.points[i].state == undecided {
		r.decide(i)
	}
	r.changed(func(w *tripWindow) { s.windowChanged(env, w, v) })
	last := s.track.stateBefore(i).last
	if !chained && s.story.rode() && last >= 0 && s.track.points[last].at >= s.story.start {
		s.ridden.revise(r.ridden) // its start is not concerned
		s.settle(env)
	} else {
		s.retell(env)
	}
	kmh := 0.0
	if s.track.points[i].state == accepted {
		kmh = s.track.speedInto(i, last)
	}
	s.point(env, e, i, kmh)
	s.reschedule(env)
}

// linkPosition enters a position into the chains and revises what they decide otherwise.
func (s *State) linkPosition(m member, r *revision) {
	m.id, m.rectifies = clone(m.id), clone(m.rectifies)
	if m.links() {
		if s.links == nil {
			s.links = make(map[schemas.EventID]schemas.EventID)
		}
		s.links[m.id] = m.rectifies
	}
	s.chain(schemas.Telemetry, m, s.findPosition, func(id schemas.EventID, effective bool) {
		ref, _ := s.track.ids.find(id)
		if j := s.track.indexOf(ref); effective {
			r.decide(j)
		} else {
			r.void(j)
		}
	})
}

// applyInOrder is the hot path: the newest point so far, in no chain.
func (s *State) applyInOrder(env *Env, e *schemas.Event, v schemas.Verdict, i int) {
	f := s.track.stateBefore(i)
	last := f.last
	s.track.decide(&f, i, env.Settings.MaxSpeedKmh)
	known := len(s.track.windows)
	w := s.track.extend(i, last, f.kmh)
	if w.version > 0 || env.Watermark >= w.end() {
		s.windowChanged(env, w, v)
	}
	if s.story.phase == running {
		s.ridden.extend(&s.track.points[i], s.story.start)
	} else {
		s.retell(env)
	}
	s.point(env, e, i, f.kmh)
	if len(s.track.windows) != known || s.story.phase != running {
		s.reschedule(env)
	} else {
		s.due = min(s.due, s.alerts.NextDue(env.Rules, &env.facts)) // as point has just filled them
	}
}

func (s *State) findPosition(id schemas.EventID) (member, bool) {
	ref, ok := s.track.ids.find(id)
	if !ok {
		return member{}, false
	}
	p := &s.track.points[s.track.indexOf(ref)]
	return member{id: id, rectifies: s.links[id], at: p.at}, true
}

// windowChanged publishes a window whose content changed, if it has been due.
func (s *State) windowChanged(env *Env, w *tripWindow, v schemas.Verdict) {
	if w.version > 0 || env.Watermark >= w.end() {
		s.publishWindow(env, w, v)
	}
}

func (s *State) publishWindow(env *Env, w *tripWindow, v schemas.Verdict) {
	w.version++
	if s.silentOn(env, w.start) {
		return
	}
	env.Out.Windows = append(env.Out.Windows, s.window(w, v))
}

func (s *State) window(w *tripWindow, v schemas.Verdict) schemas.Window {
	out := schemas.Window{TripID: s.id, Start: w.start, Version: int(w.version), Verdict: v,
		Points: int(w.points), Rejected: int(w.rejected), DistanceMM: w.mm, TimeMS: w.timeMS}
	// One object holds what the pointers point to: a window has all of them or few.
	held := &struct {
		maxKmh, meanKmh float64
		first, last     schemas.Millis
	}{w.maxKmh, 0, w.start.Add(schemas.Millis(w.first)), w.start.Add(schemas.Millis(w.last))}
	if w.timeMS > 0 {
		held.meanKmh = float64(w.mm) / float64(w.timeMS) * 3.6
		out.MaxKmh, out.MeanKmh = &held.maxKmh, &held.meanKmh
	}
	if w.points > 0 {
		out.First, out.Last = &held.first, &held.last
	}
	return out
}
