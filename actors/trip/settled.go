package trip

import (
	"fmt"
	"slices"

	"taximeter/schemas"
)

// A trip sends its points in order, mostly, and what its windows and its bill need of them
// is summed up as they come. So memory lets go of points that the store holds. Of each it
// keeps a fingerprint of the id: an id with another fingerprint is new. Whatever needs more
// (a known fingerprint, a point out of order, an event that may move the start) has the
// points read back first. A fingerprint alone decides nothing.

// settled is what memory keeps of the points that it let go of: the first ones of the track.
// The first point in memory is accepted, and the last one that is summed up here.
type settled struct {
	ids       fingerprints // of the points that are not in memory
	decisions runs         // of the filter
	// content is that of the window of the first point in memory, as of that point; ridden
	// is the stretch from the trip's start, which does not move while points are not in memory.
	content content
	ridden  stretch
	first   firstPoint
	// windows before that one, which were published; their contents follow from the points.
	windows   windowList
	published int32 // of them
	parts     uint8 // in the store, that hold points summed up here: the first so many
}

// firstPoint is the first accepted one.
type firstPoint struct {
	at schemas.Millis
	id idRef
}

const (
	// tailLen points stay in memory at least: for what is sent again within seconds, and for
	// neighbours that overtook each other.
	tailLen = 2
	// closedLen points a part must hold before any of them leaves, because then it cannot be
	// joined with others any more, and MaxParts must do for a long ride.
	closedLen = 4
)

// len is how many points the track has, in memory or not.
func (t *track) len() int {
	if t.settled == nil {
		return len(t.points)
	}
	return int(t.settled.ids.count) + len(t.points)
}

// openPart is the first part that, like all after it, holds only points in memory: these
// may be written anew.
func (t *track) openPart() int {
	if t.settled == nil {
		return 0
	}
	return int(t.settled.parts)
}

// Misses reports whether the step on an event may need points that are not in memory.
func (s *State) Misses(e *schemas.Event) bool {
	past := s.track.settled
	if past == nil || e.Topic == schemas.Payments {
		return false
	}
	later := e.At > s.track.points[0].at
	switch {
	case s.chainsOf(e.Topic).touches(member{id: e.EventID, rectifies: e.Rectifies}):
		return true
	case e.Topic == schemas.Telemetry:
		return !later || past.holds(e.EventID) || s.crowded()
	case e.Kind == schemas.RideEnd || e.Kind == schemas.RideCancel:
		return !later || s.story.until() < s.track.points[0].at
	}
	return e.Kind != schemas.RideRating
}

// crowded reports whether there will be no part for the next points unless all are in
// memory and written as one.
func (s *State) crowded() bool { return s.parts == MaxParts && s.track.openPart() == MaxParts-1 }

// holds reports whether an id may be that of a point; false is certain.
func (p *settled) holds(id schemas.EventID) bool {
	var buf [64]byte
	return p.ids.has(fingerprintOf(schemas.AppendPacked(buf[:0], id)))
}

// Settle lets go of points. The parts written so far must be in the store, for good.
func (s *State) Settle() {
	n := s.settleable()
	if n == 0 {
		return
	}
	t := &s.track
	past := t.settled
	if past == nil {
		past = &settled{first: t.firstAccepted()}
	}
	past.sumUp(t, n, &s.story)
	closed := 0
	for w := t.windows; w[closed].version > 0 && w[closed].start < windowStart(t.points[n].at); closed++ {
		past.windows.add(&w[closed])
		past.published++
	}
	tail := track{windows: slices.Clone(t.windows[closed:]), settled: past, points: slices.Clone(t.points[n:])}
	tail.ids.arena = make([]byte, 0, leastArena)
	for i := range tail.points {
		p := &tail.points[i]
		p.id = tail.ids.addEntry(t.ids.entry(p.id))
	}
	past.first.id = tail.ids.keep(t.ids.entry(past.first.id))
	*t = tail
	s.recount()
}

// settleable is how many points may leave; the one after them is accepted.
func (s *State) settleable() (n int) {
	t := &s.track
	open := t.openPart()
	if !s.story.rode() || s.Parts() != open+1 {
		return 0 // the start may move; or parts will be joined
	}
	held := 0
	for i := range t.points {
		if int(t.points[i].part) == open {
			held++
		}
	}
	if held < closedLen {
		return 0
	}
	for i := range max(0, len(t.points)-tailLen+1) {
		p := &t.points[i]
		if p.part >= MaxParts-1 {
			break
		}
		if p.state.accepted() {
			n = i
		}
	}
	return n
}

// sumUp takes n points that leave, and the one after them but for its id.
func (p *settled) sumUp(t *track, n int, of *story) {
	ids := p.ids.appendTo(make([]fingerprint, 0, int(p.ids.count)+n))
	last := 0 // of the accepted ones
	for i := range n + 1 {
		pt := &t.points[i]
		if i < n {
			p.decisions.add(pt.state)
			ids = append(ids, fingerprintOf(t.ids.entry(pt.id)))
		}
		if i == 0 && p.ids.count > 0 {
			continue // is summed up
		}
		p.parts = max(p.parts, pt.part+1)
		if pt.at <= of.until() {
			p.ridden.extend(pt, of.start)
		}
		if i > 0 && windowStart(pt.at) != windowStart(t.points[i-1].at) {
			p.content = content{}
		}
		kmh := 0.0
		if pt.state == accepted {
			kmh = t.speedInto(i, last)
		}
		p.content.add(t, i, last, kmh)
		if pt.state.accepted() {
			last = i
		}
	}
	p.ids = newFingerprints(ids)
}

// ToRecall is how many parts Recall needs, from the first; 0 = all points are in memory.
func (s *State) ToRecall() int { return s.track.openPart() }

// Recall takes back the points that the first parts hold.
func (s *State) Recall(parts ...[]byte) error {
	t := &s.track
	past := t.settled
	if past == nil {
		return nil
	}
	var whole track
	if err := whole.restorePoints(parts, &s.links); err != nil {
		return fmt.Errorf("%w: trip %q: %w", ErrSnapshot, s.id, err)
	}
	n, at := int(past.ids.count), t.points[0]
	if len(whole.points) <= n || whole.points[n].at != at.at || !whole.ids.is(whole.points[n].id, t.ids.entry(at.id)) {
		return fmt.Errorf("%w: trip %q: the parts of its points do not hold the %d that left memory", ErrSnapshot, s.id, n)
	}
	whole.points = whole.points[:n]
	past.decisions.end()
	d := decoder{b: past.decisions.done}
	if whole.restoreStates(&d); d.bad {
		return fmt.Errorf("%w: trip %q: the parts of its points are not those that left memory", ErrSnapshot, s.id)
	}
	for _, p := range t.points {
		p.id = whole.ids.keep(t.ids.entry(p.id))
		whole.points = append(whole.points, p)
	}
	d = decoder{b: past.windows.list}
	whole.restoreWindows(&d, uint64(past.published))
	whole.windows = append(whole.windows, t.windows...)
	*t = whole
	s.recount()
	return nil
}

// runs are decisions of the filter in their order, a number for each stretch of the same.
type runs struct {
	done  []byte // numbers of those that ended
	n     int32  // of the one that did not
	state pointState
}

func (r *runs) add(state pointState) {
	if state != r.state {
		r.end()
		r.state = state
	}
	r.n++
}

func (r *runs) end() {
	if r.n > 0 {
		e := encoder{r.done}
		e.uint(uint64(r.n)<<3 | uint64(r.state))
		r.done, r.n = e.b, 0
	}
}

// windowList is windows in their order, start and version of each.
type windowList struct {
	list []byte
	last schemas.Millis // start of the last one
}

func (l *windowList) add(w *tripWindow) {
	e := encoder{l.list}
	e.int(int64(w.start-l.last) / int64(WindowSize))
	e.uint(uint64(w.version))
	l.list, l.last = e.b, w.start
}
