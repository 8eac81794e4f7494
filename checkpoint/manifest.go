package checkpoint

import (
	"fmt"
	"slices"

	"taximeter/schemas"
)

// Offsets is one Kafka offset per input topic.
type Offsets [schemas.NumInputs]schemas.Offset

// Entry is what a manifest says of one partition: who owns it, and the newest cut of it.
//
// Invariants: pending ascends by Made; First <= Stands().
type Entry struct {
	// Made is the number of the manifest that created the cut. Carrying forward, assignment
	// and restore keep it: it identifies what the sinks have seen.
	Made        Number      `json:"made"`
	Epoch       Epoch       `json:"epoch"`
	Incarnation Incarnation `json:"incarnation,omitempty"`
	Owner       NodeID      `json:"owner,omitempty"` // "" = nobody runs it
	Seal        SealNumber  `json:"seal"`            // the seal that became the cut

	// The cut: [First, Next) are the offsets that Made's outbox speaks of.
	First     Offsets        `json:"first"`
	Next      Offsets        `json:"next"` // where a run goes on: first offsets not reflected in Files
	Watermark schemas.Millis `json:"watermark"`
	// Cut is where Files stand if an operator has moved Next since; see SetOffset.
	Cut *Offsets `json:"cut,omitempty"`

	Files   []File      `json:"files,omitempty"`   // the state at the cut
	Pending []OutboxRef `json:"pending,omitempty"` // not yet known as published, ascending by Made
	Alerts  Alerts      `json:"alerts"`

	// Abandoned is not nil after a restore, until a run has come to where the line left
	// behind stood.
	Abandoned *Abandoned `json:"abandoned,omitempty"`
}

// Stands is where Files stand: Next, unless an operator has moved it.
func (e Entry) Stands() Offsets {
	if e.Cut != nil {
		return *e.Cut
	}
	return e.Next
}

// Base names the cut that a seal grew from.
type Base struct {
	Made Number     `json:"made"`
	Seal SealNumber `json:"seal"`
}

// Base is the entry's cut as a seal must name it.
func (e Entry) Base() Base { return Base{Made: e.Made, Seal: e.Seal} }

// Unpublished is Pending without what the marker shows as published: an outbox leaves only
// when the marker (or the least of all sinks' markers) is >= its Made.
func (e Entry) Unpublished(marker Number) []OutboxRef {
	i := 0
	for i < len(e.Pending) && e.Pending[i].Made <= marker {
		i++
	}
	return e.Pending[i:]
}

// Cause says what a manifest was made for.
type Cause string

const (
	CauseGenesis    Cause = "genesis"
	CauseCheckpoint Cause = "checkpoint"
	CauseAssignment Cause = "assignment" // also joins, leaves and take-overs
	CauseRestore    Cause = "restore"
	CauseOffsets    Cause = "offsets" // an operator moved where consumption goes on
	CauseSinks      Cause = "sinks"   // a sink was added or forgotten
)

// Manifest is one link of the chain: the whole truth about a namespace at its number. It
// is a value: decisions return new ones and share what did not change, so nobody may
// modify the slices of a manifest.
type Manifest struct {
	Namespace Namespace `json:"namespace"`
	Number    Number    `json:"number"`
	Lineage   Lineage   `json:"lineage"`
	Cause     Cause     `json:"cause"`
	Protocol  Protocol  `json:"protocol,omitzero"` // 0 = Protocol1; see Speaks

	// Restores are the lines that restores have abandoned, in the order of the restores; a
	// sink that appends must take back what they added.
	Restores []Span `json:"restores,omitempty"`

	// Sinks are those that outboxes wait for beside Kafka, by name.
	Sinks []Fed `json:"sinks,omitempty"`

	// Oldest is the smallest number still retained: what a restore may go back to, and whose
	// files are not garbage. It never falls. It lies in the chain, not in the configuration,
	// so that a restore and a garbage collector cannot disagree.
	Oldest Number `json:"oldest"`

	Members  []NodeID                  `json:"members"` // sorted
	TopicIDs [schemas.NumInputs]string `json:"topicIds"`
	Entries  []Entry                   `json:"entries"` // index = partition

	CreatedAt schemas.Millis `json:"createdAt"`
	CreatedBy NodeID         `json:"createdBy"`
	Token     string         `json:"token"` // see Stamp
}

// Stamp says who writes a manifest, and when by its clock.
type Stamp struct {
	At schemas.Millis
	By NodeID
	// Token is unique to one attempt of one writer (e.g. incarnation and a counter): it tells
	// our own manifest, whose answer was lost, from another's with the same content.
	Token string
}

// Entry is the entry of partition p; ok is false if the namespace has no such partition.
func (m Manifest) Entry(p schemas.Partition) (e Entry, ok bool) {
	if p < 0 || int(p) >= len(m.Entries) {
		return Entry{}, false
	}
	return m.Entries[p], true
}

// IsMember reports whether the node is one of the members.
func (m Manifest) IsMember(id NodeID) bool { return slices.Contains(m.Members, id) }

// Owned lists the partitions that the tip gives to a node. The node may run, seal and
// publish one only if it itself offered the entry's incarnation in its present life.
func (m Manifest) Owned(id NodeID) []schemas.Partition {
	var owned []schemas.Partition
	for p, e := range m.Entries {
		if e.Owner == id {
			owned = append(owned, schemas.Partition(p))
		}
	}
	return owned
}

// Genesis is the first manifest of a namespace: its founder as the only member, every
// partition without owner, to be read from starts[p].
func Genesis(ns Namespace, topicIDs [schemas.NumInputs]string, starts []Offsets, by Stamp) Manifest {
	m := Manifest{Namespace: ns, Number: 1, Lineage: 1, Cause: CauseGenesis, Oldest: 1, Members: []NodeID{by.By},
		TopicIDs: topicIDs, Entries: make([]Entry, len(starts)), CreatedAt: by.At, CreatedBy: by.By, Token: by.Token}
	for p, start := range starts {
		m.Entries[p] = Entry{Made: 1, First: start, Next: start, Watermark: schemas.NoTime}
	}
	return m
}

// after is the manifest that follows tip with everything carried forward.
func after(tip Manifest, cause Cause, lim Limits, by Stamp) Manifest {
	next := tip
	next.Number, next.Cause = tip.Number+1, cause
	next.CreatedAt, next.CreatedBy, next.Token = by.At, by.By, by.Token
	if cause == CauseCheckpoint {
		next.Oldest = lim.oldest(tip)
	}
	next.Entries = slices.Clone(tip.Entries)
	return next
}

// retireAtOnce is how many manifests one checkpoint may retire: more than it adds, so that
// the chain comes back to its bound.
const retireAtOnce = 2

// oldest is what the checkpoint after tip retains. Every member makes checkpoints of its
// own, so the bound grows with their number; and a burst of assignments (a join, a rolling
// restart) retires nothing by itself: how far back in time one can go stays.
func (l Limits) oldest(tip Manifest) Number {
	keep := Number(max(l.Retain, 1) * max(len(tip.Members), 1))
	return max(tip.Oldest, min(tip.Oldest+retireAtOnce, tip.Number+1-keep+1))
}

// check says what makes m no possible manifest; it guards both ends of the encoding.
func (m Manifest) check() error {
	if err := m.Namespace.Check(); err != nil {
		return err
	}
	switch {
	case m.Number < 1 || m.Lineage < 1 || m.Oldest < 1 || m.Oldest > m.Number:
		return fmt.Errorf("number %d, lineage %d, oldest %d do not fit", m.Number, m.Lineage, m.Oldest)
	case m.Token == "" || m.CreatedBy == "":
		return fmt.Errorf("manifest %d has no writer or token", m.Number)
	case len(m.Entries) == 0:
		return fmt.Errorf("manifest %d has no partitions", m.Number)
	case !slices.IsSorted(m.Members) || len(slices.Compact(slices.Clone(m.Members))) != len(m.Members):
		return fmt.Errorf("members %v are not sorted and unique", m.Members)
	}
	for p, e := range m.Entries {
		if err := e.check(m); err != nil {
			return fmt.Errorf("partition %d: %w", p, err)
		}
	}
	return nil
}

func (e Entry) check(m Manifest) error {
	if e.Made < 1 || e.Made > m.Number {
		return fmt.Errorf("made by %d in manifest %d", e.Made, m.Number)
	}
	if e.Owner != "" && !m.IsMember(e.Owner) {
		return fmt.Errorf("owner %q is not a member of %v", e.Owner, m.Members)
	}
	for t, stands := range e.Stands() {
		if e.First[t] > stands {
			return fmt.Errorf("%s: first offset %d after next %d", schemas.Topic(t), e.First[t], stands)
		}
	}
	last := Number(0)
	for _, o := range e.Pending {
		if o.Made <= last || o.Made > m.Number {
			return fmt.Errorf("pending outbox %d after %d in manifest %d", o.Made, last, m.Number)
		}
		last = o.Made
	}
	return nil
}
