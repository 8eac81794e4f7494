package partition

import (
	"encoding/binary"
	"fmt"
	"slices"

	"taximeter/schemas"
)

// cutting is a cut whose rows are being written.
type cutting struct {
	sealed Sealed
	number int64
	trips  []*Slot // those that had changed and are not looked at yet
	rows   slab
}

// Cut begins a seal: it holds what happened until now. Write gives it, and comes before the
// next Cut. Between two batches the partition's memory is a cut, so nothing waits.
//
// Rows of trips are written behind the cut, so that nobody waits for all of them: those of a
// trip at the latest when a step, which would change them, comes to it (find, advance).
//
// Seals that are not committed yet are cumulative: each outbox begins at the base's cut,
// and items stay until Committed.
func (p *Partition) Cut(number int64) {
	if p.cutting != nil {
		panic(fmt.Sprintf("partition %d: cut %d while %d is being written", p.id, number, p.cutting.number))
	}
	p.seals++
	p.sweep = nil // it may let go only of what is applied
	out := Sealed{Watermark: p.clock.watermark, Unsent: slices.Clone(p.alerts.unsent), Reached: p.abandoned == nil}
	for i := range p.positions {
		out.Next[i] = p.positions[i].Next
	}
	for id := range p.alerts.suppress {
		out.Seen = append(out.Seen, id)
	}
	slices.Sort(out.Seen)
	const rowsPerTrip = 3 // head, points, timer; a timer that moved is one more, and so is a new trip's pointer
	out.Changes = append(make([]Change, 0, 1+(rowsPerTrip+1)*len(p.dirty)), Change{[]byte(keyHeader), p.header(out.Seen)})
	o := openSeal{number, len(p.effects.Bills), len(p.effects.Windows), len(p.letters), out.Next}
	p.open = append(p.open, o)
	out.Outbox = schemas.Outbox{Bills: slices.Clip(p.effects.Bills), Windows: slices.Clip(p.effects.Windows),
		DeadLetters: slices.Clip(p.letters), Verdicts: p.tellVerdicts()}
	// Later effects go to arrays of their own: the sealed outbox is read in other goroutines.
	p.effects.Bills, p.effects.Windows, p.letters = out.Outbox.Bills, out.Outbox.Windows, out.Outbox.DeadLetters
	p.cutting = &cutting{sealed: out, number: number, trips: p.dirty}
	p.dirty = make([]*Slot, 0, len(p.dirty))
}

// Write goes on with the seal that Cut began, by at most n trips, and gives it when it is whole.
func (p *Partition) Write(n int) (out Sealed, whole bool) {
	c := p.cutting
	n = min(n, len(c.trips))
	for i, s := range c.trips[:n] {
		if i%lookahead == 0 {
			p.look(c.trips[i:min(i+lookahead, n)])
		}
		p.writeFirst(s)
	}
	if c.trips = c.trips[n:]; len(c.trips) > 0 {
		return out, false
	}
	c.sealed.Outbox.Trips = p.tellTrips()
	p.cutting = nil
	return c.sealed, true
}

// writeFirst writes what the cut under way holds of a trip, before it changes.
func (p *Partition) writeFirst(s *Slot) {
	c := p.cutting
	if c == nil || !s.dirty || s.touched == p.seals {
		return // it had not changed before the cut, or its rows are written
	}
	if p.trips[s.ID()] == s { // else it expired and a new trip took its rows over
		p.summarise(s)
		p.write(s, c)
	}
	s.dirty = false
}

// slab hands out copies in pieces of large allocations: the rows of a seal live and die together.
type slab struct{ free []byte }

const slabBytes = 64 << 10

func (s *slab) keep(b []byte) []byte {
	if len(b) > len(s.free) {
		s.free = make([]byte, max(len(b), slabBytes))
	}
	n := copy(s.free, b)
	kept := s.free[:n:n]
	s.free = s.free[n:]
	return kept
}

func (c *cutting) put(key, value []byte) {
	c.sealed.Changes = append(c.sealed.Changes, Change{c.rows.keep(key), c.rows.keep(value)})
}

func (c *cutting) remove(key []byte) {
	c.sealed.Changes = append(c.sealed.Changes, Change{c.rows.keep(key), nil})
}

// write writes the rows of one changed trip.
func (p *Partition) write(s *Slot, to *cutting) {
	due := s.Trip.Due()
	gone := s.Trip.Expired()
	put := func(key, value []byte) {
		to.put(key, value)
		p.scratch = value[:0]
	}
	var keys [2][64]byte // ids are rarely longer
	entry := appendTripKey(keys[0][:0], s.ID())
	if s.place == nowhere && !gone {
		if s.place = p.layout.place(to.sealed.Watermark); s.place != underID {
			put(entry, s.place.appendPointer(p.scratch))
		}
	}
	head := s.place.appendHeadKey(keys[1][:0], s.ID())
	point := func(part int) []byte { return binary.BigEndian.AppendUint32(head, uint32(part)) }
	if s.Trip.HasNewPoints() && !gone {
		part, points := s.Trip.AppendPoints(p.scratch)
		put(point(part), points)
	}
	parts := s.Trip.Parts()
	if gone {
		parts = 0
	}
	for i := parts; i < int(s.parts); i++ {
		to.remove(point(i))
	}
	s.parts = uint8(parts)
	switch {
	case !gone:
		put(head, s.Trip.AppendHead(binary.AppendUvarint(p.scratch, uint64(parts))))
	case s.place == nowhere: // it came and went between two seals
	case s.place == underID:
		to.remove(head)
	default:
		to.remove(head)
		to.remove(entry)
	}
	if gone {
		due, s.place = schemas.EndOfTime, nowhere
	}
	if s.stored != due {
		if s.stored != schemas.EndOfTime {
			to.remove(appendDueKey(p.scratch, DueTrip{s.stored, s.ID()}))
		}
		if due != schemas.EndOfTime {
			to.put(appendDueKey(p.scratch, DueTrip{due, s.ID()}), []byte{})
		}
		s.stored = due
	}
	if gone && p.store == nil {
		p.forget(s) // else Sweep does: until then the store still has its rows
	}
}
