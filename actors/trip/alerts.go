package trip

import (
	"taximeter/actors/rule"
	"taximeter/schemas"
)

// Alert takes what a rule decided.
func (e *Effects) Alert(a schemas.Alert) { e.Alerts = append(e.Alerts, a) }

// RuleFailed counts an expression that could not be evaluated.
func (e *Effects) RuleFailed(f rule.Failure) {
	e.anomaly(schemas.AnomalyRuleFailed, f.TripID, f.EventID)
}

// point lets the rules look at an effective position on its arrival; kmh is the speed of
// its segment, if it has one.
func (s *State) point(env *Env, e *schemas.Event, i int, kmh float64) {
	if env.Rules.Len() == 0 {
		return
	}
	p := &s.track.points[i]
	f := s.facts(env)
	if p.state.accepted() {
		speed := rule.SpeedUnknown
		switch {
		case e.Has.Has(schemas.HasSpeed):
			speed = e.SpeedKmh
		case p.state == accepted:
			speed = kmh
		}
		f.SpeedKmh = max(speed, 0)
		s.alerts.OnPoint(env.Rules, f, rule.Point{ID: e.EventID, At: p.at, LatLon: p.pos, SpeedKmh: speed}, env.Out)
	}
	s.alerts.OnEvent(env.Rules, f, e.EventID, e.At, env.Out)
}

// event lets the rules look at the trip after a ride event or payment.
func (s *State) event(env *Env, e *schemas.Event) {
	if env.Rules.Len() > 0 {
		s.alerts.OnEvent(env.Rules, s.facts(env), e.EventID, e.At, env.Out)
	}
}

// paid lets the rules compare an authorisation with the others.
func (s *State) paid(env *Env, e *schemas.Event) {
	if env.Rules.Len() == 0 || e.Kind != schemas.PayAuthorization || s.paymentOf(e.EventID).void {
		return
	}
	var others []rule.Payment
	for i := range s.payments {
		if o := &s.payments[i]; o.kind == schemas.PayAuthorization && !o.void {
			if id := s.names.id(o.id); id != e.EventID {
				others = append(others, rule.Payment{ID: id, At: o.at, Amount: o.amount})
			}
		}
	}
	s.alerts.OnPayment(env.Rules, s.facts(env), rule.Payment{ID: e.EventID, At: e.At, Amount: e.Payment.Amount}, others, env.Out)
}

// silence lets the rules look at the watermark.
func (s *State) silence(env *Env) {
	if env.Rules.Len() == 0 {
		return
	}
	f := s.facts(env)
	if s.alerts.NextDue(env.Rules, f) > env.Watermark {
		return
	}
	if last := s.track.stateBefore(len(s.track.points)).last; last >= 0 {
		f.LastID = s.track.ids.id(s.track.points[last].id)
	}
	switch t := &s.story; {
	case f.Start == 0:
	case t.inferred:
		f.StartID = s.track.ids.id(t.startRef)
	default:
		f.StartID = s.names.id(t.startRef)
	}
	s.alerts.OnWatermark(env.Rules, f, env.Watermark, env.Out)
}

// alertsDue is the watermark at which a silence must be told: of an ended trip too, when
// it fell silent for long enough before its end.
func (s *State) alertsDue(env *Env) schemas.Millis {
	if env.Rules.Len() == 0 {
		return schemas.EndOfTime
	}
	return s.alerts.NextDue(env.Rules, s.facts(env))
}

// facts fills env's scratch with what rules may look at; valid until the next call. StartID
// and LastID are left to silence, which alone needs them: they cost an allocation.
func (s *State) facts(env *Env) *rule.Facts {
	t := &s.story
	f := &env.facts
	*f = rule.Facts{TripID: s.id, Region: t.region.Region, Category: t.category.Category, Route: t.route.Route,
		DistanceMM: s.ridden.mm, Points: int64(s.ridden.points), Rejected: int64(s.ridden.rejected), Multiplier: t.multiplier}
	if t.phase == running || t.phase == ended {
		f.Start = t.start
		f.DurationS = int64((max(s.lastMove, t.start) - t.start) / schemas.Second)
	}
	if t.ended() {
		f.End = t.end
		f.DurationS = int64((t.end - t.start) / schemas.Second)
	}
	if last := s.track.stateBefore(len(s.track.points)).last; last >= 0 {
		p := &s.track.points[last]
		f.LastAt, f.Last = p.at, p.pos
	}
	for i := range s.payments {
		p := &s.payments[i]
		switch {
		case p.void:
		case p.kind == schemas.PayAuthorization:
			f.Authorized += p.amount
			if p.means == cash {
				f.Captured += p.amount
			}
		case p.kind == schemas.PayCapture:
			f.Captured += p.amount
		case p.kind == schemas.PayRefund:
			f.Captured -= p.amount
		}
	}
	return f
}
