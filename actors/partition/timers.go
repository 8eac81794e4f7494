package partition

import (
	"encoding/binary"
	"slices"

	"taximeter/schemas"
)

// timers is a heap of the trips' next due instants, earliest first, ties by trip id so
// that every run fires in the same order. A slot may stand in it more than once; only the
// entry whose instant is the slot's scheduled one counts.
type timers []timer

type timer struct {
	due  schemas.Millis
	head uint64 // of the trip's id: windows close at the same instants, and slots lie far away
	slot *Slot
}

func (t timers) less(i, j int) bool {
	a, b := &t[i], &t[j]
	switch {
	case a.due != b.due:
		return a.due < b.due
	case a.head != b.head:
		return a.head < b.head
	}
	return a.slot.ID() < b.slot.ID()
}

// headOf an id is its first bytes: heads that differ sort as the ids do.
func headOf(id schemas.TripID) uint64 {
	var b [8]byte
	copy(b[:], id)
	return binary.BigEndian.Uint64(b[:])
}

// schedule makes sure that the slot is woken at its trip's due instant.
func (t *timers) schedule(s *Slot) {
	due := s.Trip.Due()
	if due >= s.scheduled {
		return
	}
	s.scheduled = due
	*t = append(*t, timer{due, headOf(s.ID()), s})
	t.up(len(*t) - 1)
}

func (t timers) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !t.less(i, parent) {
			return
		}
		t[i], t[parent] = t[parent], t[i]
		i = parent
	}
}

// compact lets go of the entries that are out of date: they hold on to slots that may have
// left memory long before their instants come, and a trip leaves one behind with each window
// that closes.
func (t *timers) compact() {
	*t = slices.DeleteFunc(*t, func(e timer) bool { return e.due != e.slot.scheduled })
	if cap(*t) > len(*t)+len(*t)/2 {
		*t = slices.Clone(*t)
	}
	for i := range *t {
		t.up(i)
	}
}

// due reports whether the earliest entry's instant has been reached.
func (t timers) due(watermark schemas.Millis) bool { return len(t) > 0 && t[0].due <= watermark }

// pop takes the earliest entry out; nil when it is out of date.
func (t *timers) pop() *Slot {
	h := *t
	top, last := h[0], len(h)-1
	h[0] = h[last]
	h[last] = timer{}
	h = h[:last]
	for i := 0; ; {
		child := 2*i + 1
		if child >= last {
			break
		}
		if child+1 < last && h.less(child+1, child) {
			child++
		}
		if !h.less(child, i) {
			break
		}
		h[i], h[child] = h[child], h[i]
		i = child
	}
	*t = h
	if top.due != top.slot.scheduled {
		return nil
	}
	top.slot.scheduled = schemas.EndOfTime
	return top.slot
}
