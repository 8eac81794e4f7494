package checkpoint

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"taximeter/schemas"
)

// Change is one thing that an assignment manifest does: Start, Join, Leave, TakeOver, Speak or
// Feed, or by an operator's word SetOffset, AdoptTopic or Forget. Checkpoints copy members and owners, restores
// copy members; nothing else moves them.
type Change interface {
	apply(m *Manifest, tip Manifest, lim Limits) error
}

// ErrRefused is what every change that the rules do not allow wraps.
var ErrRefused = errors.New("assignment refused")

// Assign derives the manifest after tip in which all changes are done, in their order; one
// refused change refuses all. The put that follows proves that the tip was still the tip.
func Assign(tip Manifest, lim Limits, by Stamp, changes ...Change) (Manifest, error) {
	next := after(tip, CauseAssignment, lim, by)
	next.Members = slices.Clone(tip.Members)
	for _, c := range changes {
		if err := c.apply(&next, tip, lim); err != nil {
			return Manifest{}, fmt.Errorf("%w after manifest %d: %w", ErrRefused, tip.Number, err)
		}
	}
	slices.Sort(next.Members)
	for p, e := range next.Entries {
		if e.Owner != "" && !next.IsMember(e.Owner) {
			return Manifest{}, fmt.Errorf("%w after manifest %d: partition %d would belong to %s, which is no member: give it to another in the same manifest",
				ErrRefused, tip.Number, p, e.Owner)
		}
	}
	return next, nil
}

// Start begins a new run of a partition: epoch + 1 under the owner and incarnation named.
// The run begins at the tip's entry; whoever ran it before is revoked.
//
// With Last it is a planned move: the old owner's last seal, the new epoch and the new
// owner in one manifest, so that nothing is replayed.
type Start struct {
	Partition   schemas.Partition
	Owner       NodeID // "" = nobody: the partition rests
	Incarnation Incarnation
	Last        *Seal
}

func (c Start) apply(m *Manifest, tip Manifest, lim Limits) error {
	was, ok := tip.Entry(c.Partition)
	if !ok {
		return fmt.Errorf("partition %d does not exist", c.Partition)
	}
	e := m.Entries[c.Partition]
	switch {
	case e.Epoch != was.Epoch:
		return fmt.Errorf("partition %d is assigned twice", c.Partition)
	case c.Owner == "" && c.Incarnation != 0, c.Owner != "" && c.Incarnation == 0:
		return fmt.Errorf("partition %d: owner %q with incarnation %d", c.Partition, c.Owner, c.Incarnation)
	case c.Owner != "" && c.Owner == was.Owner && c.Incarnation == was.Incarnation:
		// The memory of the run before does not fit: replay interleaves the topics anew.
		return fmt.Errorf("partition %d: %s must start it under a new incarnation, not %d again", c.Partition, c.Owner, c.Incarnation)
	}
	if c.Last != nil {
		if c.Last.Partition != c.Partition {
			return fmt.Errorf("partition %d: the last seal is of partition %d", c.Partition, c.Last.Partition)
		}
		why := c.Last.verdict(tip, was)
		if why == "" {
			e, why = grow(e, *c.Last, m.Number, lim)
		}
		if why != "" {
			return fmt.Errorf("last seal: %s", Rejected{Place: c.Last.Place(), Reason: why})
		}
	}
	e.Epoch, e.Incarnation, e.Owner = was.Epoch+1, c.Incarnation, c.Owner
	m.Entries[c.Partition] = e
	return nil
}

// Join makes a node a member. A node that is one already stays one: a restart.
type Join struct{ Node NodeID }

func (c Join) apply(m *Manifest, _ Manifest, _ Limits) error {
	if err := c.Node.Check(); err != nil {
		return err
	}
	if !m.IsMember(c.Node) {
		m.Members = append(m.Members, c.Node)
	}
	return nil
}

// Leave ends a node's membership at its own wish. Its partitions must be given away in the
// same manifest.
type Leave struct{ Node NodeID }

func (c Leave) apply(m *Manifest, _ Manifest, _ Limits) error { return remove(m, c.Node) }

func remove(m *Manifest, id NodeID) error {
	if !m.IsMember(id) {
		return fmt.Errorf("%s is not a member", id)
	}
	m.Members = slices.DeleteFunc(m.Members, func(x NodeID) bool { return x == id })
	return nil
}

// TakeOver ends a dead node's membership on the word of another member, which brings its
// evidence. Its partitions must be given away in the same manifest.
type TakeOver struct {
	Dead     NodeID
	Observer NodeID
	Evidence Evidence
}

// Evidence is what an observer knows of a node that it calls dead. It serves progress
// only: if it is wrong, the chain still revokes the node before anything is lost.
type Evidence struct {
	// Alive is the observer's view: itself and whom it can reach.
	Alive []NodeID
	// Unchanged is how long the dead node's heartbeat object has not changed, on the
	// observer's monotonic clock, while the observer's own heartbeat puts succeeded. An
	// observer whose puts failed begins anew from zero.
	Unchanged time.Duration
	// Patience is how long that must be.
	Patience time.Duration
}

func (c TakeOver) apply(m *Manifest, tip Manifest, _ Limits) error {
	if why := c.Evidence.against(tip, c.Dead, c.Observer); why != "" {
		return fmt.Errorf("%s may not take over from %s: %s", c.Observer, c.Dead, why)
	}
	return remove(m, c.Dead)
}

// against is why the evidence does not suffice, or "". Members are counted in the tip: an
// isolated coordinator must not write itself down as the majority.
func (ev Evidence) against(tip Manifest, dead, observer NodeID) string {
	if observer == dead || !tip.IsMember(observer) {
		return "the observer must be another member"
	}
	if ev.Patience > 0 && ev.Unchanged >= ev.Patience {
		return ""
	}
	if slices.Contains(ev.Alive, dead) {
		return fmt.Sprintf("gossip calls it alive and its heartbeat stands still for %s of %s only", ev.Unchanged, ev.Patience)
	}
	alive := 0
	for _, id := range tip.Members {
		if slices.Contains(ev.Alive, id) {
			alive++
		}
	}
	if 2*alive <= len(tip.Members) {
		return fmt.Sprintf("it reaches %d of %d members, not the majority, and the heartbeat stands still for %s of %s only",
			alive, len(tip.Members), ev.Unchanged, ev.Patience)
	}
	return ""
}
