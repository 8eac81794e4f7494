package partition

import "taximeter/schemas"

// lookahead is how many records' trips are looked at before the first of them is taken.
const lookahead = 32

// lookAhead brings the next records' keys and trips near the processor. They lie anywhere in
// gigabytes; in loops that do nothing else the waits for memory overlap.
func (p *Partition) lookAhead(records []schemas.Record) {
	var slots [lookahead]*Slot
	for i := range records {
		r := &records[i]
		slots[i] = p.trips[r.TripID]
		if n := len(r.Key); n > 0 {
			p.looked ^= schemas.Millis(r.Key[0] ^ r.Key[n-1])
		}
	}
	for _, s := range slots {
		if s != nil {
			p.looked ^= s.Trip.Due()
		}
	}
}
