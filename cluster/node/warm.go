package node

import (
	"context"
	"time"

	"taximeter/actors/coordinator"
	"taximeter/checkpoint"
	"taximeter/cluster"
	"taximeter/schemas"
)

// wait is a planned move that waits until its receiver has a copy of the partition.
type wait struct {
	to    checkpoint.NodeID
	since time.Time
	made  checkpoint.Number // of the cut that the receiver was last seen to have
	files []checkpoint.File // of that cut
}

// asking is the newest checkpoint that was asked for because a move waits for its cut.
type asking struct {
	on checkpoint.Number // the tip then
	at time.Time
}

const (
	// coldBytes are fetched within the pause that any move has: no copy is waited for.
	coldBytes = 4 << 20
	// copyPatience is how long a move waits for the copy: a gigabyte at 10 MB/s. After that it
	// goes without; what is missing is fetched while the partition stands still.
	copyPatience = 2 * time.Minute
	// drainPatience is the same of a node that is asked to go.
	drainPatience = 8 * time.Second
)

// warm reports whether the receiver of a planned move has nearly all of what it will start
// from, or has been waited for long enough. A copy of an earlier cut is not enough by itself:
// compactions in between may have written most tables anew.
func (c *crew) warm(ctx context.Context, tip checkpoint.Manifest, view cluster.View, t *task, to cluster.Member) bool {
	p := t.partition
	e := tip.Entries[p]
	if to.Speaks.Max < checkpoint.Protocol2 {
		return true
	}
	unsealed, err := t.store.Unsealed(e.Files)
	if err != nil {
		return true // the move itself tells
	}
	if sizeOf(e.Files)+unsealed <= coldBytes {
		return true
	}
	w, known := c.waits[p]
	if !known || w.to != to.ID {
		w = wait{to: to.ID, since: time.Now()}
	}
	patience := copyPatience
	if self, _ := view.Member(view.Self); self.Duty == cluster.Draining {
		patience = drainPatience
	}
	switch {
	case unsealed+c.lacking(ctx, e, p, &w) <= coldBytes:
	case time.Since(w.since) > patience:
		c.node.log.Warn("partition moves although its receiver has no copy of it yet: it stands still while the rest is fetched", "partition", p, "to", to.ID, "waited", time.Since(w.since))
	default:
		if unsealed > coldBytes && !t.store.Compacting() {
			c.cut(tip, e)
		}
		c.waits[p] = w
		return false
	}
	delete(c.waits, p)
	return true
}

// cut asks for a checkpoint of what no copy of the entry can have yet: one for all moves that
// wait, and the next when its cuts are in the chain, or it has had its time.
func (c *crew) cut(tip checkpoint.Manifest, e checkpoint.Entry) {
	if e.Made <= c.asked.on && time.Since(c.asked.at) < c.node.cfg.Checkpoint.Deadline {
		return
	}
	c.asked = asking{tip.Number, time.Now()}
	c.node.system.Root.Send(c.node.coordinator, &coordinator.Round{})
}

// lacking is how many bytes of the entry's files the copy lacks that the receiver says it has.
func (c *crew) lacking(ctx context.Context, e checkpoint.Entry, p schemas.Partition, w *wait) int64 {
	made := c.pulse.copiesOf(ctx, w.to)[p]
	switch {
	case made == 0:
		return sizeOf(e.Files)
	case made >= e.Made:
		return 0
	case made != w.made:
		copied, err := c.chain.Read(ctx, made)
		if err != nil { // retired: as good as none
			return sizeOf(e.Files)
		}
		w.made, w.files = made, copied.Entries[p].Files
	}
	return sizeOf(without(e.Files, w.files))
}

// without is the files that are not among the others.
func without(files, others []checkpoint.File) (rest []checkpoint.File) {
	keys := make(map[string]bool, len(others))
	for _, f := range others {
		keys[f.Key] = true
	}
	for _, f := range files {
		if !keys[f.Key] {
			rest = append(rest, f)
		}
	}
	return rest
}
