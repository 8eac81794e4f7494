package trip

import (
	"math"

	"taximeter/actors/geo"
	"taximeter/schemas"
)

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

// speedInto is the speed of the segment that ends in an accepted point.
func (t *track) speedInto(i, last int) float64 {
	from, p := &t.points[last], &t.points[i]
	return speedKmh(geo.Haversine(from.pos, p.pos), p.at-from.at)
}
