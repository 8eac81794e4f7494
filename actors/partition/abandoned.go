package partition

import (
	"maps"
	"slices"

	"taximeter/actors/trip"
	"taximeter/schemas"
)

// Abandoned is the line of checkpoints that a restore left behind, as far as its results
// are public: what is computed again and equals them must not go out once more, and what
// differs is their next version.
type Abandoned struct {
	Trips   map[schemas.TripID]*trip.Public
	Letters map[LetterID]bool
	// Next and Watermark are where the line stood. A partition that has come there has seen
	// all that the results were made from.
	Next      [schemas.NumInputs]schemas.Offset
	Watermark schemas.Millis
}

// LetterID identifies a dead letter by the record that it was.
type LetterID struct {
	Topic  schemas.Topic
	Offset schemas.Offset
}

// FollowsOn tells, before anything is consumed or a tariff comes, what a restore left
// behind. Until the partition has come to where that line stood, what is public in it is
// kept back.
func (p *Partition) FollowsOn(a Abandoned) error {
	p.abandoned = &a
	p.env.Public = a.Trips
	return p.catchUp()
}

// catchUp ends the silence once the partition has come to where the abandoned line stood.
func (p *Partition) catchUp() error {
	a := p.abandoned
	if a == nil || p.clock.watermark < a.Watermark {
		return nil
	}
	for t := range p.positions {
		if p.positions[t].Next < a.Next[t] {
			return nil
		}
	}
	p.env.Reached = true
	for _, id := range slices.Sorted(maps.Keys(a.Trips)) {
		s, err := p.find(id)
		if err != nil {
			return err
		}
		if s != nil { // of a trip that is not known any more what is public stands
			p.advance(s)
		}
	}
	p.env.Public, p.env.Reached, p.abandoned = nil, false, nil
	return nil
}
