package node

import (
	"sync/atomic"
	"time"

	"taximeter/checkpoint"
	"taximeter/schemas"
)

// preparing connects for the partitions that others will hand over to this node, so that none stands
// still for it. It is the crew's.
type preparing struct {
	asked map[schemas.Partition]time.Time
	busy  atomic.Bool // those asked for last are being prepared
}

// prepareEvery keeps the connections of what takes its time to come.
const prepareEvery = 5 * time.Second

func (r *preparing) prepare(n *Node, owners, target []checkpoint.NodeID) {
	if r.busy.Load() {
		return
	}
	due := r.due(n.id(), owners, target, time.Now())
	if len(due) == 0 {
		return
	}
	r.busy.Store(true)
	n.background(func() {
		defer r.busy.Store(false)
		for _, p := range due {
			if err := n.voices.PrepareAlerts(n.ctx, p); err != nil {
				n.log.Debug("connection for alerts is not prepared: it is made when they are there", "partition", p, "err", err)
			}
		}
	})
}

// due are those that are run elsewhere, belong to me and were not asked for lately.
func (r *preparing) due(me checkpoint.NodeID, owners, target []checkpoint.NodeID, now time.Time) (due []schemas.Partition) {
	if r.asked == nil {
		r.asked = make(map[schemas.Partition]time.Time)
	}
	for p, to := range target {
		p := schemas.Partition(p)
		switch coming := to == me && owners[p] != me && owners[p] != ""; {
		case !coming:
			delete(r.asked, p)
		case now.Sub(r.asked[p]) >= prepareEvery:
			r.asked[p] = now
			due = append(due, p)
		}
	}
	return due
}
