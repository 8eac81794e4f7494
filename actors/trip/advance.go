package trip

import (
	"taximeter/actors/rule"
	"taximeter/schemas"
)

// Advance does what the watermark in env makes due: windows to close, the bill, silence
// alerts, and the ends of the trip's own life. Doing it twice changes nothing.
func (s *State) Advance(env *Env) {
	w := env.Watermark
	if env.Reached {
		s.reveal(env)
	}
	if s.stage == detailed {
		for i := s.firstUnpublished(); i < len(s.track.windows); i++ {
			if win := &s.track.windows[i]; w >= win.end() {
				s.publishWindow(env, win, schemas.Counted)
			}
		}
		s.settle(env)
		s.silence(env)
		if reached(w, s.noEndDue(env)) {
			s.noEndTold = true
			env.Out.anomaly(schemas.AnomalyNoEnd, s.id, "")
		}
		if reached(w, s.dropDue(env)) {
			s.summarise(env)
		}
	}
	if s.stage == summarised && reached(w, s.forgetDue(env)) {
		s.stage = expired
	}
	s.reschedule(env)
}

// reached reports whether the watermark has come to an instant. EndOfTime means never,
// also at the end of time.
func reached(watermark, at schemas.Millis) bool {
	return at != schemas.EndOfTime && watermark >= at
}

// firstUnpublished finds the windows that wait for their close: always the newest ones,
// since a window made after its close is published at once.
func (s *State) firstUnpublished() int {
	i := len(s.track.windows)
	for i > 0 && s.track.windows[i-1].version == 0 {
		i--
	}
	return i
}

// reschedule finds the next watermark at which Advance has something to do. It may have
// passed: a late event can make a trip closed, silent or empty long ago.
func (s *State) reschedule(env *Env) {
	s.due = schemas.EndOfTime
	switch s.stage {
	case detailed:
		if i := s.firstUnpublished(); i < len(s.track.windows) {
			s.due = wake(s.track.windows[i].end())
		}
		if s.story.ended() && s.story.end > env.Watermark { // from then on settle was called
			s.due = min(s.due, wake(s.story.end))
		}
		s.due = min(s.due, s.unpaidDue(env), s.noEndDue(env), s.dropDue(env), s.alertsDue(env))
	case summarised:
		s.due = min(s.unpaidDue(env), s.forgetDue(env))
	}
}

// wake is when to look at what is due then: by the end of time, which is no instant of a
// timer and comes right after the last.
func wake(due schemas.Millis) schemas.Millis { return min(due, schemas.EndOfTime-1) }

// unpaidDue is when time alone makes the trip nao_paga. Nothing in it changes then, and yet
// tables of trips must be told: a trip that wakes is told of.
func (s *State) unpaidDue(env *Env) schemas.Millis {
	if s.billing.last == nil || s.Reconcile(env.Watermark) != pending {
		return schemas.EndOfTime
	}
	return unpaidFrom(s.billing.last)
}

// noEndDue is when an open trip has been silent for too long.
func (s *State) noEndDue(env *Env) schemas.Millis {
	if s.noEndTold || s.story.ended() || s.lastMove == schemas.NoTime {
		return schemas.EndOfTime
	}
	return s.lastMove.Add(env.Settings.NoEndAfter)
}

// dropDue is when the detail is no longer needed: late events would be beyond the horizon.
func (s *State) dropDue(env *Env) schemas.Millis {
	last := s.lastMove
	for i := range s.payments { // a trip known by its payments alone lives by them
		if s.lastMove == schemas.NoTime {
			last = max(last, s.payments[i].at)
		}
	}
	switch {
	case env.Settings.Horizon == 0 || last == schemas.NoTime:
		return schemas.EndOfTime
	case s.closed(env.Watermark):
		return last.Add(env.Settings.Horizon)
	}
	return last.Add(env.Settings.OpenHorizon)
}

// closed reports whether the trip was billed or cancelled.
func (s *State) closed(w schemas.Millis) bool {
	return s.billing.version() > 0 || (s.story.phase == cancelled && w >= s.story.end)
}

func (s *State) forgetDue(env *Env) schemas.Millis {
	return s.droppedAt.Add(env.Settings.SummaryHorizon)
}

// summarise drops the detail and keeps the bill, the payments and their ids.
func (s *State) summarise(env *Env) {
	s.reveal(env) // while its windows can be compared
	if !s.closed(env.Watermark) {
		env.Out.anomaly(schemas.AnomalyAbandoned, s.id, "")
	}
	s.droppedAt = s.dropDue(env)
	s.stage = summarised
	s.noTariff = false // no tariff helps any more
	s.track, s.parts, s.fresh = track{}, 0, 0
	s.links = nil
	s.rides = nil
	all := s.names
	s.names = texts{}
	for i := range s.payments {
		p := &s.payments[i]
		p.id, p.rectifies = s.nameOf(all.id(p.id)), s.nameOf(all.id(p.rectifies))
	}
	if s.chains != nil {
		s.chains[schemas.Telemetry], s.chains[schemas.Rides] = chains{}, chains{}
	}
	s.alerts = rule.Memory{}
	s.recount()
}
