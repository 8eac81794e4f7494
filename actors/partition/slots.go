package partition

import (
	"fmt"

	"taximeter/actors/trip"
	"taximeter/schemas"
)

// Slot is one trip in memory. There may be a million.
type Slot struct {
	Trip *trip.State
	// Actor is the shell's handle on the trip's actor; the partition does not look at it.
	Actor any

	scheduled schemas.Millis // earliest entry in the timers; EndOfTime = none
	stored    schemas.Millis // due instant under which the store lists it; EndOfTime = it does not
	touched   int32          // p.seals when it last changed
	place     place          // where its rows lie in the store
	parts     uint8          // rows of points in the store
	dirty     bool           // changed, and not written since
	forgotten bool           // left memory: the trip's slot is another one, or none
}

func (s *Slot) ID() schemas.TripID { return s.Trip.ID() }

// slot finds the event's trip in memory, in the store, or makes it; nil when the trip is
// unknown and the event too old to be sure that it is new.
//
// A trip that expired is unknown from that instant on, not from the seal that removes its
// rows: when seals fall must not change a verdict.
func (p *Partition) slot(e *schemas.Event, found *Slot) (*Slot, error) {
	if found == nil || found.forgotten {
		found = p.trips[e.TripID]
	}
	s, err := p.known(e.TripID, found)
	if s != nil || err != nil {
		return s, err
	}
	old := p.settings.Trip.Beyond(e.At, p.clock.watermark)
	if old && e.Topic != schemas.Payments {
		return nil, nil
	}
	t := trip.New(e.TripID)
	if old {
		t.MarkNoSummary()
	}
	expired := p.trips[e.TripID]
	if expired != nil {
		p.forget(expired)
	}
	s = p.admit(t, schemas.EndOfTime)
	if expired != nil { // its rows, not yet removed, become the new trip's
		s.stored, s.parts, s.place = expired.stored, expired.parts, expired.place
	}
	return s, nil
}

// find gives a trip in memory or in the store; nil when it is unknown or expired.
func (p *Partition) find(id schemas.TripID) (*Slot, error) { return p.known(id, p.trips[id]) }

// known is find for a trip that is in memory at s, or not.
func (p *Partition) known(id schemas.TripID, s *Slot) (*Slot, error) {
	if s == nil {
		return p.load(id)
	}
	p.writeFirst(s)
	if s.Trip.Expired() {
		return nil, nil
	}
	return s, nil
}

func (p *Partition) admit(t *trip.State, stored schemas.Millis) *Slot {
	s := &Slot{Trip: t, scheduled: schemas.EndOfTime, stored: stored}
	p.trips[t.ID()] = s
	return s
}

// load brings a trip back from the store; nil when it is not there.
func (p *Partition) load(id schemas.TripID) (*Slot, error) {
	if p.store == nil {
		return nil, nil
	}
	t, at, err := readTrip(p.store, id)
	if err != nil {
		return nil, fmt.Errorf("partition %d: %w", p.id, err)
	}
	if t == nil {
		return nil, nil
	}
	s := p.admit(t, t.Due())
	s.parts, s.place = uint8(t.Parts()), at
	p.timers.schedule(s)
	if t.AwaitsTariff() {
		p.awaiting[s.ID()] = true
	}
	return s, nil
}

// whole finds a trip and brings all its points into memory, as those who show it need them.
func (p *Partition) whole(id schemas.TripID) (*Slot, error) {
	s, err := p.find(id)
	if s == nil || err != nil {
		return nil, err
	}
	return s, p.recall(s)
}

// recall brings back the points of a trip that left memory.
func (p *Partition) recall(s *Slot) error {
	points, err := readPoints(p.store, s.place, s.ID(), s.Trip.ToRecall())
	if err == nil {
		err = s.Trip.Recall(points...)
	}
	if err != nil {
		return fmt.Errorf("partition %d: %w", p.id, err)
	}
	return nil
}
