package trip

import (
	"slices"
	"sort"

	"taximeter/actors/window"
	"taximeter/schemas"
)

// WindowSize is the length of the tumbling windows, aligned to the epoch.
const WindowSize = 5 * schemas.Minute

var windows = window.Tumbling{Size: int64(WindowSize)}

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

// extend adds the newest point to its window, whose predecessor among the accepted ones
// and whose segment's speed the filter has just told.
func (t *track) extend(i, last int, kmh float64) *tripWindow {
	w := t.windowAt(windowStart(t.points[i].at))
	w.add(t, i, last, kmh)
	return w
}

// contentAt is what the window that starts there holds.
func (t *track) contentAt(start schemas.Millis) (c content) {
	i := t.from(start)
	last := t.stateBefore(i).last
	if t.isSettling(start) {
		c, i, last = t.settled.content, 1, 0
	}
	for ; i < len(t.points) && t.points[i].at-start < WindowSize; i++ {
		kmh := 0.0
		if t.points[i].state == accepted {
			kmh = t.speedInto(i, last)
		}
		c.add(t, i, last, kmh)
		if t.points[i].state.accepted() {
			last = i
		}
	}
	return c
}

// isSettling reports whether it is the window that the last settled point lies in.
func (t *track) isSettling(start schemas.Millis) bool {
	return t.settled != nil && windowStart(t.points[0].at) == start
}

// past is the index of the first point after the window that starts there. The last window
// of all has no end that 64 bits can express, hence a difference.
func (t *track) past(start schemas.Millis) int {
	return sort.Search(len(t.points), func(i int) bool { return t.points[i].at-start >= WindowSize })
}

// ends are the first and the last accepted point of the window that starts there, in ms
// after its start; zeros when it has none.
func (t *track) ends(start schemas.Millis) (first, last int32) {
	from, to := t.from(start), t.past(start)
	for from < to && !t.points[from].state.accepted() {
		from++
	}
	if from == to {
		return 0, 0
	}
	for !t.points[to-1].state.accepted() {
		to--
	}
	first, last = int32(t.points[from].at-start), int32(t.points[to-1].at-start)
	if t.isSettling(start) {
		first = t.settled.content.first
	}
	return first, last
}

// add counts points[i], whose predecessor among the accepted ones is points[last].
func (w *content) add(t *track, i, last int, kmh float64) {
	p := &t.points[i]
	switch {
	case p.state == voided, p.state == undecided:
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
