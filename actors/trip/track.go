package trip

import (
	"math"
	"slices"
	"sort"

	"taximeter/actors/geo"
	"taximeter/actors/window"
	"taximeter/schemas"
)

// WindowSize is the length of the tumbling windows, aligned to the epoch.
const WindowSize = 5 * schemas.Minute

var windows = window.Tumbling{Size: int64(WindowSize)}

// pointState is the track filter's decision on a point.
type pointState uint8

const (
	undecided   pointState = iota // not yet seen by the filter; never between two steps
	voided                        // rectified by another event: not effective
	accepted                      // has a segment from the last accepted point
	anchored                      // accepted without a segment: the first, or after three rejections
	tooFast                       // rejected: implied speed above the limit
	sameInstant                   // rejected: no time passed since the last accepted point
)

func (s pointState) accepted() bool { return s == accepted || s == anchored }
func (s pointState) rejected() bool { return s == tooFast || s == sameInstant }

// maxRejections in a row make the last of them the new anchor.
const maxRejections = 3

// point is one telemetry event of the trip. It holds no pointer, so that a million
// trips cost the garbage collector nothing.
type point struct {
	at      schemas.Millis
	pos     schemas.LatLon
	mm      int64 // length of the segment that ends here; 0 unless accepted
	id      idRef
	state   pointState
	verdict schemas.Verdict
}

// track holds the telemetry of a trip, sorted by (at, eventId), with the filter's
// decision on every point and the windows that follow from them.
//
// Invariant: states, lengths and window contents are what the filter says of the
// effective points in order, after every exported step of State.
type track struct {
	ids     ids
	points  []point
	windows []tripWindow // ascending by start
}

// tripWindow is one window of the trip.
type tripWindow struct {
	start schemas.Millis
	content
	version int32 // 0 = not yet published
}

// content is what a window tells; a new version is due exactly when it changes.
type content struct {
	mm, timeMS       int64
	maxKmh           float64 // meaningful when timeMS > 0
	points, rejected int32
	first, last      int32 // ms after the window's start; meaningful when points > 0
}

func (w *tripWindow) end() schemas.Millis { return w.start.Add(WindowSize) }

func windowStart(at schemas.Millis) schemas.Millis {
	return schemas.Millis(windows.Of(int64(at)).Start)
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

// filterState is all that the filter remembers between two points.
type filterState struct {
	last       int // index of the last accepted point, or -1
	rejections int // in a row since then; those at the same instant do not count
	// kmh is the speed of the segment into last, if it was just decided that it has one.
	kmh float64
}

// stateBefore is the filter's state just before points[i].
func (t *track) stateBefore(i int) filterState {
	var f filterState
	for f.last = i - 1; f.last >= 0; f.last-- {
		switch t.points[f.last].state {
		case accepted, anchored:
			return f
		case tooFast:
			f.rejections++
		}
	}
	return f
}

// decide is the filter: it sets the state and length of points[i] and moves on.
func (t *track) decide(f *filterState, i int, maxKmh float64) {
	p := &t.points[i]
	p.mm = 0
	if f.last < 0 {
		p.state = anchored
		*f = filterState{last: i}
		return
	}
	from := &t.points[f.last]
	if p.at == from.at {
		p.state = sameInstant
		return
	}
	metres := geo.Haversine(from.pos, p.pos)
	kmh := speedKmh(metres, p.at-from.at)
	if maxKmh > 0 && kmh > maxKmh {
		if f.rejections++; f.rejections < maxRejections {
			p.state = tooFast
			return
		}
		p.state = anchored
	} else {
		p.state = accepted
		p.mm = int64(math.Round(metres * 1000))
	}
	*f = filterState{last: i, kmh: kmh}
}

// speedKmh of a length in metres over a time in milliseconds.
func speedKmh(metres float64, ms schemas.Millis) float64 { return metres / float64(ms) * 3600 }

// refilter decides points[from] to points[through] again, and on from there until the
// old decisions stand again. It returns the index after the last point decided.
func (t *track) refilter(from, through int, maxKmh float64) (to int) {
	f := t.stateBefore(from)
	for i := from; i < len(t.points); i++ {
		old := t.points[i].state
		if old == voided {
			continue
		}
		t.decide(&f, i, maxKmh)
		if i > through && old.accepted() && t.points[i].state.accepted() {
			return i + 1 // the filter's state after this point is what it was
		}
	}
	return len(t.points)
}

// extend adds the newest point to its window, whose predecessor among the accepted ones
// and whose segment's speed the filter has just told.
func (t *track) extend(i, last int, kmh float64) *tripWindow {
	w := t.windowAt(windowStart(t.points[i].at))
	w.add(t, i, last, kmh)
	return w
}

// rebuild computes the windows of points[from:to) again and reports those whose content
// changed.
func (t *track) rebuild(from, to int, changed func(*tripWindow)) {
	for from < to {
		start := windowStart(t.points[from].at)
		c, end := t.contentAt(start)
		from = end
		if c == (content{}) && !t.hasWindow(start) {
			continue // only points without effect: no window
		}
		if w := t.windowAt(start); w.content != c {
			w.content = c
			changed(w)
		}
	}
}

// contentAt is what the window that starts there holds, and the index after its points.
func (t *track) contentAt(start schemas.Millis) (c content, end int) {
	i := sort.Search(len(t.points), func(i int) bool { return t.points[i].at >= start })
	last := t.stateBefore(i).last
	for ; i < len(t.points) && t.points[i].at < start+WindowSize; i++ {
		kmh := 0.0
		if t.points[i].state == accepted {
			kmh = t.speedInto(i, last)
		}
		c.add(t, i, last, kmh)
		if t.points[i].state.accepted() {
			last = i
		}
	}
	return c, i
}

// add counts points[i], whose predecessor among the accepted ones is points[last].
func (w *content) add(t *track, i, last int, kmh float64) {
	p := &t.points[i]
	switch {
	case p.state == voided:
		return
	case p.state.rejected():
		w.rejected++
		return
	}
	at := int32(p.at - windowStart(p.at))
	if w.points == 0 {
		w.first = at
	}
	w.points++
	w.last = at
	if p.state == accepted {
		from := &t.points[last]
		w.mm += p.mm
		w.timeMS += int64(p.at - from.at)
		w.maxKmh = max(w.maxKmh, kmh)
	}
}

func (t *track) hasWindow(start schemas.Millis) bool {
	i := sort.Search(len(t.windows), func(i int) bool { return t.windows[i].start >= start })
	return i < len(t.windows) && t.windows[i].start == start
}

// windowAt finds or makes the window that starts there.
func (t *track) windowAt(start schemas.Millis) *tripWindow {
	n := len(t.windows)
	if n > 0 && t.windows[n-1].start == start {
		return &t.windows[n-1]
	}
	i := sort.Search(n, func(i int) bool { return t.windows[i].start >= start })
	if i == n || t.windows[i].start != start {
		t.windows = roomFor(t.windows, 1, 2)
		t.windows = slices.Insert(t.windows, i, tripWindow{start: start})
	}
	return &t.windows[i]
}

// stretch is what the track says of the time between two instants, both included.
type stretch struct {
	mm               int64 // segments whose two points lie within
	points, rejected int32
}

func (t *track) within(start, end schemas.Millis) stretch {
	var s stretch
	first := sort.Search(len(t.points), func(i int) bool { return t.points[i].at >= start })
	for i := first; i < len(t.points) && t.points[i].at <= end; i++ {
		s.extend(&t.points[i], start)
	}
	return s
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

// firstAccepted is the earliest accepted point, or nil.
func (t *track) firstAccepted() *point {
	for i := range t.points {
		if t.points[i].state.accepted() {
			return &t.points[i]
		}
	}
	return nil
}

// speedInto is the speed of the segment that ends in an accepted point.
func (t *track) speedInto(i, last int) float64 {
	from, p := &t.points[last], &t.points[i]
	return speedKmh(geo.Haversine(from.pos, p.pos), p.at-from.at)
}
