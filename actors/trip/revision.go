package trip

import (
	"slices"

	"taximeter/schemas"
)

// revision is what one event changes in the track when it does not simply come last. Points
// are decided anew as far as the old decisions do not stand, and windows are kept current
// by the difference: it costs what changes, not what a window or a track holds.
type revision struct {
	t       *track
	maxKmh  float64
	until   schemas.Millis
	ridden  stretch // by how much that of the points until then differs
	windows []earlier
}

// earlier is a window as it was before the revision.
type earlier struct {
	start schemas.Millis
	content
}

// void takes points[i] out: another event rectifies it.
func (r *revision) void(i int) {
	if r.t.points[i].state == undecided { // it has just come
		r.t.points[i].state = voided
		return
	}
	r.redo(i, func(p *point, _ *filterState) { p.state, p.mm = voided, 0 })
}

// decide lets the filter decide points[i], which has just come into effect.
func (r *revision) decide(i int) {
	r.redo(i, func(_ *point, f *filterState) { r.t.decide(f, i, r.maxKmh) })
}

// redo decides points[i] as told and those after it by the filter, until the old decisions
// stand again.
func (r *revision) redo(i int, first func(p *point, f *filterState)) {
	t := r.t
	f := t.stateBefore(i)
	last := f.last // by the old decisions
	w := r.window(windowStart(t.points[i].at))
	for j := i; j < len(t.points); j++ {
		p := &t.points[j]
		if j > i && (p.state == voided || p.state == undecided) {
			continue // the second has just come and gets its own turn, or is voided before it
		}
		if start := windowStart(p.at); start != w.start {
			w.finish(t)
			w = r.window(start)
		}
		old := p.state
		r.count(p, -1)
		w.remove(t, j, last)
		before := f.last
		if j == i {
			first(p, &f)
		} else {
			t.decide(&f, j, r.maxKmh)
		}
		r.count(p, 1)
		w.put(t, j, before, f.kmh)
		if old.accepted() {
			if j > i && p.state.accepted() {
				break // from here on the filter's state is what it was
			}
			last = j
		}
	}
	w.finish(t)
}

// count notes what a point adds to the stretch, or takes from it.
func (r *revision) count(p *point, sign int32) {
	switch {
	case p.at > r.until:
	case p.state.rejected():
		r.ridden.rejected += sign
	case p.state.accepted():
		r.ridden.points += sign
		r.ridden.mm += int64(sign) * p.mm
	}
}

// window begins to change the window that starts there.
func (r *revision) window(start schemas.Millis) windowChange {
	w := r.t.windowAt(start)
	if !slices.ContainsFunc(r.windows, func(e earlier) bool { return e.start == start }) {
		r.windows = append(r.windows, earlier{start, w.content})
	}
	return windowChange{start: start, content: w.content, fastest: w.maxKmh}
}

// changed are the windows that tell something else than before, ascending.
func (r *revision) changed(tell func(*tripWindow)) {
	slices.SortFunc(r.windows, func(a, b earlier) int { return int(a.start - b.start) })
	for _, e := range r.windows {
		if w := r.t.windowAt(e.start); w.content != e.content {
			tell(w)
		}
	}
}

// windowChange is a window while points of it are decided anew.
type windowChange struct {
	start schemas.Millis
	content
	fastest      float64 // before
	lost, gained float64 // speeds of the fastest segments that went and that came
}

// remove takes points[i] out as it was decided, after points[last].
func (w *windowChange) remove(t *track, i, last int) {
	switch p := &t.points[i]; p.state {
	case tooFast, sameInstant:
		w.rejected--
	case anchored:
		w.points--
	case accepted:
		w.points--
		w.mm -= p.mm
		w.timeMS -= int64(p.at - t.points[last].at)
		w.lost = max(w.lost, t.speedInto(i, last))
	}
}

// put counts points[i] as it is decided now, after points[last].
func (w *windowChange) put(t *track, i, last int, kmh float64) {
	w.add(t, i, last, kmh)
	if t.points[i].state == accepted {
		w.gained = max(w.gained, kmh)
	}
}

// finish makes the change the window's.
func (w *windowChange) finish(t *track) {
	if w.lost == w.fastest && w.gained < w.lost {
		w.content = t.contentAt(w.start) // which is the fastest now?
	} else {
		w.first, w.last = t.ends(w.start)
	}
	t.windowAt(w.start).content = w.content
}
