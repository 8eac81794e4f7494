package rule

import (
	"math"

	"taximeter/actors/geo"
	"taximeter/schemas"
)

// OnPoint decides an accepted telemetry point on its arrival; f already counts it. Points
// not newer than the newest one seen change nothing.
func (m *Memory) OnPoint(b *Book, f *Facts, p Point, out Emitter) {
	if m.book != b || b.kinds&pointKinds != 0 { // small enough to be inlined: most books concern few events
		m.onPoint(b, f, &p, out)
	}
}

func (m *Memory) onPoint(b *Book, f *Facts, p *Point, out Emitter) {
	if !m.watches(b, pointKinds) || p.At <= m.newestPoint || p.At < f.LastAt {
		return
	}
	m.newestPoint = p.At
	c := cursor{m: m}
	for i := range b.families {
		family := &b.families[i]
		if family.kinds&pointKinds == 0 {
			continue
		}
		v := family.inForce(p.At, f)
		e := c.seek(family.id)
		endUnless(v, e, pointKinds)
		if v == nil {
			continue
		}
		switch v.kind {
		case stop:
			if e := c.stand(e, family.id, v, p, f.inProgressAt(p.At)); e != nil {
				out.Alert(e.alert(v, f, p.At, stopDetails(v, e, p)))
			}
		case detour:
			away := 0.0
			if len(f.Route) > 0 && f.inProgressAt(p.At) {
				away = geo.DistanceToPath(p.LatLon, f.Route, v.limit)
			}
			if e := c.run(e, family.id, v, p, away > v.limit); e != nil {
				out.Alert(e.alert(v, f, p.At, detourDetails(v, e, away)))
			}
		case speeding:
			if e := c.run(e, family.id, v, p, p.SpeedKmh > v.limit); e != nil {
				out.Alert(e.alert(v, f, p.At, speedingDetails(v, e, p)))
			}
		}
	}
}

// stand takes a point into the stop rule's episode: every point farther than the radius
// from the onset is the onset of a new one. The result is the stop to tell, nil = none.
func (c *cursor) stand(e *episode, ruleID string, v *version, p *Point, inProgress bool) *episode {
	switch {
	case !inProgress:
		if e != nil {
			e.end()
		}
		return nil
	case e == nil || e.kind != stop || farther(e.place, p.LatLon, v.limit):
		e = c.open(e, ruleID)
		e.begin(stop, p.ID, p.At, p.LatLon)
	}
	if e.fired || p.At-e.onsetAt < v.duration {
		return nil
	}
	e.fired = true
	return e
}

// run takes a point into an episode that counts points in a row for which the condition
// holds. The result is the run to tell, nil = none.
func (c *cursor) run(e *episode, ruleID string, v *version, p *Point, holds bool) *episode {
	switch {
	case !holds:
		if e != nil {
			e.end()
		}
		return nil
	case e == nil || e.kind != v.kind:
		e = c.open(e, ruleID)
		e.begin(v.kind, p.ID, p.At, p.LatLon)
	}
	e.count++
	if e.fired || e.count < v.points {
		return nil
	}
	e.fired = true
	return e
}

// farther reports whether a and b are more than so many metres apart. The latitudes alone
// settle most points of a moving trip and spare the trigonometry.
func farther(a, b schemas.LatLon, metres float64) bool {
	const metresPerDegree = geo.EarthRadiusM * math.Pi / 180
	return math.Abs(a.Lat-b.Lat)*metresPerDegree > metres*1.000001 || geo.Haversine(a, b) > metres
}
