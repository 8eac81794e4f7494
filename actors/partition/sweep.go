package partition

// sweep is a sweep under way.
type sweep struct {
	trips       []*Slot // not looked at yet
	idle        int64
	maxResident int
	evicted     int
}

// Sweep begins a sweep and ends it; see StartSweep.
func (p *Partition) Sweep(idle int64, maxResident int) (evicted int) {
	p.StartSweep(idle, maxResident)
	evicted, _ = p.SweepSome(len(p.trips))
	return evicted
}

// StartSweep lets clean trips leave memory that did not change in the last idle seals, and
// more of them while over maxResident. Of the others, points leave that the store has. Call
// it when the last seal's changes are applied. SweepSome does it; the next Cut ends it.
func (p *Partition) StartSweep(idle int64, maxResident int) {
	p.sweep = nil
	if p.store == nil {
		return
	}
	s := &sweep{trips: make([]*Slot, 0, len(p.trips)), idle: idle, maxResident: maxResident}
	for _, slot := range p.trips {
		s.trips = append(s.trips, slot)
	}
	p.sweep = s
}

// SweepSome goes on with the sweep, by at most n trips, and tells how many have left since it
// began, and whether it is over.
func (p *Partition) SweepSome(n int) (evicted int, over bool) {
	w := p.sweep
	if w == nil {
		return 0, true
	}
	n = min(n, len(w.trips))
	for i, s := range w.trips[:n] {
		if i%lookahead == 0 {
			p.look(w.trips[i:min(i+lookahead, n)])
		}
		p.sweepTrip(w, s)
	}
	if w.trips = w.trips[n:]; len(w.trips) > 0 {
		return w.evicted, false
	}
	p.sweep = nil
	if w.evicted > 0 || len(p.timers) > len(p.trips)+len(p.trips)/4 {
		p.timers.compact()
	}
	return w.evicted, true
}

func (p *Partition) sweepTrip(w *sweep, s *Slot) {
	if s.Trip.Expired() && !s.dirty {
		if p.trips[s.ID()] == s { // else a new trip of that id has begun since the sweep did
			p.forget(s)
		}
		return
	}
	stale := int64(s.touched)+w.idle < int64(p.seals) || len(p.trips) > w.maxResident
	// A trip due soon must stay: the store is not asked again for instants before loadedTo.
	if s.dirty || !stale || s.Trip.Due() <= p.loadedTo || p.awaiting[s.ID()] {
		if p.abandoned == nil { // what it left is compared with windows in memory
			s.Trip.Settle()
		}
		return
	}
	p.forget(s)
	w.evicted++
}
