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
	asked bool // for a checkpoint of what no copy can have yet
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
// a compaction in between has written all tables anew.
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
	case unsealed+c.lacking(ctx, e, p, to.ID) <= coldBytes:
	case time.Since(w.since) > patience:
		c.node.log.Warn("partition moves although its receiver has no copy of it yet: it stands still while the rest is fetched", "partition", p, "to", to.ID, "waited", time.Since(w.since))
	default:
		if unsealed > coldBytes && !w.asked {
			w.asked = true
			c.node.system.Root.Send(c.node.coordinator, &coordinator.Round{})
		}
		c.waits[p] = w
		return false
	}
	delete(c.waits, p)
	return true
}

// lacking is how many bytes of the entry's files the copy lacks that a node says it has.
func (c *crew) lacking(ctx context.Context, e checkpoint.Entry, p schemas.Partition, node checkpoint.NodeID) int64 {
	_, held, err := c.node.readHeartbeat(ctx, node)
	if err != nil || held[p] == 0 {
		return sizeOf(e.Files)
	}
	if held[p] >= e.Made {
		return 0
	}
	copied, err := c.chain.Read(ctx, held[p])
	if err != nil { // retired: as good as none
		return sizeOf(e.Files)
	}
	return sizeOf(without(e.Files, copied.Entries[p].Files))
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
