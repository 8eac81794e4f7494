package partition

import "taximeter/schemas"

// lookahead is how many trips are looked at before the first of them is stepped.
const lookahead = 32

// lookAhead finds the next records' trips, and brings them near the processor. They lie anywhere in
// gigabytes; in loops that do nothing else the waits for memory overlap.
func (p *Partition) lookAhead(records []schemas.Record) {
	for i := range records {
		p.found[i] = p.trips[records[i].TripID]
	}
	p.look(p.found[:len(records)])
}

// lookAtDue does the same for those who are woken next: mostly the first of the heap.
func (p *Partition) lookAtDue() {
	var found [lookahead]*Slot
	slots := found[:0]
	for _, t := range p.timers[:min(lookahead, len(p.timers))] {
		if t.due <= p.clock.watermark {
			slots = append(slots, t.slot)
		}
	}
	p.look(slots)
}

// look brings trips near; nil is none. The second loop needs what the first one has brought.
func (p *Partition) look(slots []*Slot) {
	for _, s := range slots {
		if s != nil {
			p.looked ^= s.Trip.Look()
			p.runner.Look(s)
		}
	}
	for _, s := range slots {
		if s != nil {
			p.looked ^= s.Trip.LookFurther()
		}
	}
}
