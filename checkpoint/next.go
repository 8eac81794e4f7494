package checkpoint

import (
	"slices"

	"taximeter/schemas"
)

// Limits bound what a chain keeps.
type Limits struct {
	Retain int // checkpoints of each member kept restorable, the tip included; at least 1. More costs store space.
	// MaxPending is how many outboxes of a partition may wait for publication. At the bound
	// the partition is sealed no more (an alarm); processing goes on. 0 = 1.
	MaxPending int
}

// Full reports whether the entry can take no further outbox, given the owner's marker: the
// owner then must not seal.
func (l Limits) Full(e Entry, marker Number) bool {
	return len(e.Unpublished(marker)) >= max(l.MaxPending, 1)
}

// NextCheckpoint derives the manifest after tip from the seals at hand: of each partition
// the furthest seal that grows from the tip's entry becomes the new cut, and its outbox is
// appended to Pending. A partition without one carries its entry forward with Made kept,
// so a slow partition never fails a checkpoint.
//
// published tells, per partition, a marker known to the coordinator; together with the
// seals' own it removes from Pending what is public. nil is allowed.
//
// If every seal was rejected the manifest changes nothing of worth: the caller leaves it.
func NextCheckpoint(tip Manifest, seals []Seal, published map[schemas.Partition]Number, lim Limits, by Stamp) (Manifest, []Rejected) {
	next := after(tip, CauseCheckpoint, lim, by)
	best := make(map[schemas.Partition]Seal, len(seals))
	var rejected []Rejected
	reject := func(s Seal, why Reason) { rejected = append(rejected, Rejected{Place: s.Place(), Reason: why}) }
	for _, s := range seals {
		e, ok := tip.Entry(s.Partition)
		if !ok {
			reject(s, ReasonForeign)
			continue
		}
		if why := s.verdict(tip, e); why != "" {
			reject(s, why)
			continue
		}
		if other, ok := best[s.Partition]; ok {
			if other.Number >= s.Number {
				reject(s, ReasonSuperseded)
				continue
			}
			reject(other, ReasonSuperseded)
		}
		best[s.Partition] = s
	}
	for p := range next.Entries {
		p := schemas.Partition(p)
		e := &next.Entries[p]
		e.Pending = e.Unpublished(published[p])
		if s, ok := best[p]; ok {
			if grown, why := grow(*e, s, next.Number, lim); why != "" {
				reject(s, why)
			} else {
				*e = grown
			}
		}
	}
	return next, rejected
}

// grow is entry e with the cut of s, made by manifest n. Epoch, incarnation and owner stay.
func grow(e Entry, s Seal, n Number, lim Limits) (Entry, Reason) {
	e.Pending = slices.Clip(e.Unpublished(s.Published))
	if !s.Outbox.Empty() {
		if lim.Full(e, 0) {
			return Entry{}, ReasonPending
		}
		ref := s.Outbox
		ref.Made = n
		e.Pending = append(e.Pending, ref)
	}
	e.Made, e.Seal = n, s.Number
	e.First, e.Next, e.Watermark = s.First, s.Next, s.Watermark
	e.Files, e.Alerts = s.Files, s.Alerts
	e.Cut = nil
	if s.Reached {
		e.Abandoned = nil
	}
	return e, ""
}
