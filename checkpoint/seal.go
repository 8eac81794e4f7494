package checkpoint

import (
	"fmt"

	"taximeter/schemas"
)

// Seal is an owner's offer of a new cut. It lies in the store, so that any coordinator may
// commit it, and it enters the chain only if nothing has happened to the partition since
// the entry it grew from.
//
// Seals that are not committed yet are cumulative: outbox and offsets always start at the
// base's cut, and the owner keeps outbox items until the chain shows which seal won.
type Seal struct {
	Namespace   Namespace         `json:"namespace"`
	Partition   schemas.Partition `json:"partition"`
	Epoch       Epoch             `json:"epoch"`
	Incarnation Incarnation       `json:"incarnation"`
	Base        Base              `json:"base"`
	Number      SealNumber        `json:"number"` // > Base.Seal

	First     Offsets        `json:"first"` // = the base entry's Next
	Next      Offsets        `json:"next"`
	Watermark schemas.Millis `json:"watermark"`
	Files     []File         `json:"files,omitempty"`
	Outbox    OutboxRef      `json:"outbox,omitzero"` // Made = 0
	Alerts    Alerts         `json:"alerts"`

	// Published is a marker that the owner has read or written: all sinks have every outbox
	// with Made <= Published.
	Published Number `json:"published,omitempty"`
	// Reached says that the run has come to where the line stood that a restore abandoned.
	Reached bool `json:"reached,omitempty"`
}

// NewSeal is the next seal of a run: it grows from the tip's entry of that partition. The
// number is last+1 where last is the number of this run's newest seal, if any.
func NewSeal(tip Manifest, p schemas.Partition, last SealNumber) Seal {
	e := tip.Entries[p]
	return Seal{Namespace: tip.Namespace, Partition: p, Epoch: e.Epoch, Incarnation: e.Incarnation, Base: e.Base(),
		Number: max(last, e.Seal) + 1, First: e.Next, Next: e.Next, Watermark: e.Watermark, Alerts: e.Alerts}
}

// Place is where the seal's uploads lie.
func (s Seal) Place() Place { return Place{Partition: s.Partition, Epoch: s.Epoch, Seal: s.Number} }

// Key is where the seal lies in the store.
func (s Seal) Key() string { return s.Namespace.Seal(s.Place()) }

// Reason says why a seal does not enter the chain.
type Reason string

const (
	ReasonForeign     Reason = "belongs to another namespace or to no partition of this one"
	ReasonEpoch       Reason = "its epoch is not the tip's: the owner was revoked"
	ReasonIncarnation Reason = "its incarnation is not the tip's: an earlier life of the owner wrote it"
	ReasonBase        Reason = "it does not grow from the tip's entry: another seal won"
	ReasonNumber      Reason = "its number is not greater than the base's"
	ReasonOffsets     Reason = "its offsets do not start at the base's cut, or go back"
	ReasonWatermark   Reason = "its watermark is behind the base's"
	ReasonMade        Reason = "it claims a manifest number of its own"
	ReasonCites       Reason = "it cites a file that is neither the base's nor its own upload"
	ReasonPending     Reason = "too many outboxes wait for publication"
	ReasonSuperseded  Reason = "a later seal of the same base holds all of it"
)

// Rejected is a seal that did not enter, and why. That is an outcome, not an error: the
// owner derives anew from the tip.
type Rejected struct {
	Place
	Reason Reason
}

func (r Rejected) String() string {
	return fmt.Sprintf("partition %d, epoch %d, seal %d: %s", r.Partition, r.Epoch, r.Seal, r.Reason)
}

// verdict is why s may not follow entry e of tip, or "". All of it is checked against the
// very manifest whose successor is put, so the put succeeding means that it held.
func (s Seal) verdict(tip Manifest, e Entry) Reason {
	switch {
	case s.Namespace != tip.Namespace:
		return ReasonForeign
	case s.Epoch != e.Epoch:
		return ReasonEpoch
	case s.Incarnation != e.Incarnation || e.Owner == "":
		return ReasonIncarnation
	case s.Base != e.Base():
		return ReasonBase
	case s.Number <= e.Seal:
		return ReasonNumber
	case s.First != e.Next || !s.First.notAfter(s.Next):
		return ReasonOffsets
	case s.Watermark < e.Watermark:
		return ReasonWatermark
	case s.Outbox.Made != 0:
		return ReasonMade
	case !s.citesOwn(e):
		return ReasonCites
	}
	return ""
}

func (o Offsets) notAfter(x Offsets) bool {
	for t := range o {
		if o[t] > x[t] {
			return false
		}
	}
	return true
}

// citesOwn checks the rule that garbage collection rests on: whatever a seal cites beyond
// its base's files is named by the seal itself, hence later than the tip until committed.
func (s Seal) citesOwn(e Entry) bool {
	base := make(map[string]File, len(e.Files))
	for _, f := range e.Files {
		base[f.Key+"\x00"+f.Name] = f
	}
	own := func(f File) bool {
		pl, ok := s.Namespace.PlaceOf(f.Key)
		return ok && pl == s.Place()
	}
	for _, f := range s.Files {
		if base[f.Key+"\x00"+f.Name] != f && !own(f) {
			return false
		}
	}
	for _, f := range s.Outbox.Staged {
		if !own(f) {
			return false
		}
	}
	return s.Outbox.File == File{} || own(s.Outbox.File)
}
