package partition

import "taximeter/schemas"

// lookahead is how many records' trips are looked at before the first of them is taken.
const lookahead = 32

// lookAhead brings the trips of the next records near the processor. They lie anywhere in
// gigabytes; in loops that do nothing else the waits for memory overlap.
func (p *Partition) lookAhead(records []schemas.Record) {
	var slots [lookahead]*Slot
	for i := range records {
		slots[i] = p.trips[records[i].TripID]
	}
	for _, s := range slots {
		if s != nil {
			p.looked ^= s.Trip.Due()
		}
	}
}
