package trip

import (
	"slices"
	"sort"

	"taximeter/schemas"
)

// point is one telemetry event of the trip. It holds no pointer, so that a million
// trips cost the garbage collector nothing.
type point struct {
	at      schemas.Millis
	pos     schemas.LatLon
	mm      int64 // length of the segment that ends here; 0 unless accepted
	id      idRef
	state   pointState
	verdict schemas.Verdict
	part    uint8 // in the store that holds it, or noPart
}

const noPart = 0xff

// track holds the telemetry of a trip, sorted by (at, eventId), with the filter's
// decision on every point and the windows that follow from them.
//
// Invariant: states, lengths and window contents are what the filter says of the
// effective points in order, after every exported step of State.
type track struct {
	ids     ids
	points  []point
	windows []tripWindow // ascending by start
	settled *settled     // points before those in memory; nil = all are in memory
}

// insert puts an effective point in its place. The filter has not seen it yet.
func (t *track) insert(p point) (index int) {
	n := len(t.points)
	t.points = roomFor(t.points, 1, 4)
	if n == 0 || t.before(&t.points[n-1], &p) {
		t.points = append(t.points, p)
		return n
	}
	index = sort.Search(n, func(i int) bool { return !t.before(&t.points[i], &p) })
	t.points = slices.Insert(t.points, index, p)
	return index
}

func (t *track) before(a, b *point) bool {
	return a.at < b.at || (a.at == b.at && t.ids.less(a.id, b.id))
}

// indexOf finds the point of an event id.
func (t *track) indexOf(ref idRef) int {
	return slices.IndexFunc(t.points, func(p point) bool { return p.id == ref })
}

// at finds the point of an event id at an instant; nil when it lies elsewhere.
func (t *track) at(at schemas.Millis, ref idRef) *point {
	for i := t.from(at); i < len(t.points) && t.points[i].at == at; i++ {
		if t.points[i].id == ref {
			return &t.points[i]
		}
	}
	return nil
}

// stretch is what the track says of the time between two instants, both included.
type stretch struct {
	mm               int64 // segments whose two points lie within
	points, rejected int32
}

func (t *track) within(start, end schemas.Millis) (s stretch) {
	i := t.from(start)
	if t.settled != nil {
		s, i = t.settled.ridden, 1
	}
	for ; i < len(t.points) && t.points[i].at <= end; i++ {
		s.extend(&t.points[i], start)
	}
	return s
}

// from is the index of the first point at or after an instant.
func (t *track) from(at schemas.Millis) int {
	return sort.Search(len(t.points), func(i int) bool { return t.points[i].at >= at })
}

// revise adds a difference.
func (s *stretch) revise(by stretch) {
	s.mm += by.mm
	s.points += by.points
	s.rejected += by.rejected
}

// extend takes the next point of a track.
func (s *stretch) extend(p *point, start schemas.Millis) {
	switch {
	case p.at < start:
	case p.state.rejected():
		s.rejected++
	case p.state.accepted():
		if s.points > 0 { // its segment begins within
			s.mm += p.mm
		}
		s.points++
	}
}

// firstAccepted is the earliest accepted point; its id is 0 when there is none.
func (t *track) firstAccepted() firstPoint {
	if t.settled != nil {
		return t.settled.first
	}
	for i := range t.points {
		if p := &t.points[i]; p.state.accepted() {
			return firstPoint{p.at, p.id}
		}
	}
	return firstPoint{}
}
