package node

import (
	"context"
	"time"

	"taximeter/checkpoint"
	"taximeter/schemas"
)

// courtesyTimeout bounds showing the offsets of one partition.
const courtesyTimeout = 5 * time.Second

// group is the consumer group under which lag tools see this namespace.
func (n *Node) group() string { return "taximeter-" + n.cfg.Namespace }

// showOffsets writes what is committed in the chain as a consumer group's offsets, for the
// eyes of lag tools. Nothing ever reads them back: where it fails (a foreign consumer that
// is active in the group makes the broker refuse), a warning is all that comes of it.
func (n *Node) showOffsets() {
	tick := time.NewTicker(max(n.cfg.Checkpoint.Interval, time.Second))
	defer tick.Stop()
	shown := make(map[schemas.Partition]checkpoint.Offsets)
	told := "" // the warning that stands
	for {
		select {
		case <-tick.C:
		case <-n.ctx.Done():
			return
		}
		switch err := n.showNew(shown); {
		case n.ctx.Err() != nil:
		case err != nil && err.Error() != told:
			told = err.Error()
			n.log.Warn("lag tools see old offsets; the meter is not affected", "group", n.group(), "err", err)
		case err == nil && told != "":
			told = ""
			n.log.Info("lag tools see the offsets again", "group", n.group())
		}
	}
}

func (n *Node) showNew(shown map[schemas.Partition]checkpoint.Offsets) error {
	tip := n.tip.Load()
	if tip == nil {
		return nil
	}
	for _, p := range tip.Owned(n.id()) {
		next := tip.Entries[p].Next
		if was, ok := shown[p]; ok && was == next {
			continue
		}
		ctx, cancel := context.WithTimeout(n.ctx, courtesyTimeout)
		err := n.voices.CommitOffsets(ctx, n.group(), p, next)
		cancel()
		if err != nil {
			return err
		}
		shown[p] = next
	}
	return nil
}
