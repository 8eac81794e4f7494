package node

import (
	"context"
	"time"

	"taximeter/checkpoint"
	"taximeter/cluster"
)

// wait is a planned move that waits until its receiver has a copy of the partition.
type wait struct {
	to    checkpoint.NodeID
	made  checkpoint.Number // of the cut that it must have; later ones differ by little
	since time.Time
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

// warm reports whether the receiver of a planned move has what the partition's files are, or
// has been waited for long enough.
func (c *crew) warm(ctx context.Context, tip checkpoint.Manifest, view cluster.View, m cluster.Move, to cluster.Member) bool {
	e := tip.Entries[m.Partition]
	if sizeOf(e.Files) <= coldBytes || to.Speaks.Max < checkpoint.Protocol2 {
		return true
	}
	w, known := c.waits[m.Partition]
	if !known || w.to != m.To {
		w = wait{m.To, e.Made, time.Now()}
		c.waits[m.Partition] = w
	}
	patience := copyPatience
	if self, _ := view.Member(view.Self); self.Duty == cluster.Draining {
		patience = drainPatience
	}
	_, held, err := c.node.readHeartbeat(ctx, m.To)
	switch {
	case err == nil && held[m.Partition] >= w.made:
	case time.Since(w.since) > patience:
		c.node.log.Warn("partition moves although its receiver has no copy of it yet: it stands still while the rest is fetched", "partition", m.Partition, "to", m.To, "waited", time.Since(w.since))
	default:
		return false
	}
	delete(c.waits, m.Partition)
	return true
}
