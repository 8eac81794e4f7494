package coordinator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"taximeter/checkpoint"
	"taximeter/schemas"
)

// round is one checkpoint: ask, collect, commit, tell.
func (c *Coordinator) round() (Outcome, error) {
	tip, err := c.tip()
	if err != nil {
		if before := c.status.Load(); before != nil {
			for _, t := range c.tasks {
				c.spill(t, before.Tip)
			}
			c.collect()
		}
		return Outcome{}, err
	}
	out := Outcome{Tip: tip, Absent: slices.Concat(c.ask(tip), c.collect())}
	for range attempts {
		next, rejected := checkpoint.NextCheckpoint(tip, c.seals(), c.published(tip), c.o.Limits, c.stamp())
		for _, r := range rejected {
			c.o.Log.Warn("seal does not enter the chain", "seal", r.String())
			delete(c.offers, r.Partition)
			out.Absent = append(out.Absent, r.Partition)
		}
		if !worth(tip, next) {
			out.Tip, out.Quiet = tip, true
			return out, nil
		}
		won, now, err := c.o.Chain.Commit(c.ctx, next)
		if err != nil {
			return out, err
		}
		tip = now
		if won {
			c.tell(next)
			out.Tip = tip
			return out, nil
		}
	}
	return out, fmt.Errorf("checkpoint lost to other writers %d times", attempts)
}

// ask starts a seal of every task that still runs what the tip says and has room. Full are
// the partitions without.
func (c *Coordinator) ask(tip checkpoint.Manifest) (full []schemas.Partition) {
	for _, t := range c.tasks {
		e, ok := tip.Entry(t.Partition())
		if !ok || e.Incarnation != t.Incarnation() {
			t.Revoked()
			continue
		}
		t.Committed(e) // again: an earlier round may have won without an answer
		if c.busy[t] {
			continue
		}
		if c.o.Limits.Full(e, t.Published()) {
			c.o.Log.Error("partition is not sealed: too many outboxes wait for publication", "partition", t.Partition(), "pending", len(e.Pending))
			full = append(full, t.Partition())
			c.spill(t, tip)
			continue
		}
		number := c.next(t, e.Seal)
		c.begin(t, func() (*checkpoint.Seal, error) { return t.Seal(c.ctx, tip, number-1) })
	}
	return full
}

// spill lets a task that cannot be sealed now keep its memory bounded all the same.
func (c *Coordinator) spill(t Task, tip checkpoint.Manifest) {
	if !c.busy[t] {
		number := c.next(t, 0)
		c.begin(t, func() (*checkpoint.Seal, error) { return nil, t.Spill(c.ctx, tip, number) })
	}
}

// begin runs what a task does for a round beside the others; collect waits for it.
func (c *Coordinator) begin(t Task, work func() (*checkpoint.Seal, error)) {
	c.busy[t] = true
	c.running.Go(func() {
		seal, err := work()
		select {
		case c.late <- offer{t, seal, err}:
		case <-c.ctx.Done():
		}
	})
}

// collect waits for the seals asked for, and takes those of earlier rounds, until the
// deadline. Absent are the partitions that are late or whose seal failed.
func (c *Coordinator) collect() (absent []schemas.Partition) {
	timer := time.NewTimer(c.o.Deadline)
	defer timer.Stop()
	for len(c.busy) > 0 {
		select {
		case o := <-c.late:
			delete(c.busy, o.task)
			switch {
			case o.err != nil:
				absent = append(absent, o.task.Partition())
				if !errors.Is(o.err, context.Canceled) {
					c.o.Log.Warn("partition could not be sealed", "partition", o.task.Partition(), "err", o.err)
				}
			case o.seal != nil && slices.Contains(c.tasks, o.task):
				c.offers[o.seal.Partition] = *o.seal
			}
		case <-timer.C:
			for t := range c.busy {
				absent = append(absent, t.Partition())
			}
			c.o.Log.Warn("checkpoint goes without slow partitions", "late", len(c.busy))
			return absent
		case <-c.ctx.Done():
			return absent
		}
	}
	return absent
}

func (c *Coordinator) seals() []checkpoint.Seal {
	var all []checkpoint.Seal
	for _, s := range c.offers {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b checkpoint.Seal) int { return int(a.Partition - b.Partition) })
	return all
}

func (c *Coordinator) published(tip checkpoint.Manifest) map[schemas.Partition]checkpoint.Number {
	known := make(map[schemas.Partition]checkpoint.Number)
	for _, t := range c.tasks {
		if e, ok := tip.Entry(t.Partition()); ok && e.Incarnation == t.Incarnation() {
			known[t.Partition()] = t.Published()
		}
	}
	return known
}

// worth reports whether next says more than tip: a new cut, or something published.
func worth(tip, next checkpoint.Manifest) bool {
	for p := range next.Entries {
		if next.Entries[p].Made == next.Number || len(next.Entries[p].Pending) != len(tip.Entries[p].Pending) {
			return true
		}
	}
	return false
}

// tell lets the tasks whose seals won go on from them.
func (c *Coordinator) tell(m checkpoint.Manifest) {
	for _, t := range c.tasks {
		e, ok := m.Entry(t.Partition())
		if !ok || e.Made != m.Number || e.Incarnation != t.Incarnation() {
			continue
		}
		delete(c.offers, t.Partition())
		t.Committed(e)
	}
}
