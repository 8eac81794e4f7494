package operator

import (
	"context"
	"errors"
	"time"

	"taximeter/checkpoint"
	"taximeter/cluster"
	"taximeter/schemas"
)

// Unsealed is what a run has read of a topic at which it stands still, and no checkpoint
// holds yet.
type Unsealed struct {
	cluster.Stopped
	Owner  checkpoint.NodeID
	Sealed schemas.Offset // all before it is in the newest checkpoint
}

// Settle gives the newest manifest as soon as it holds what the owners of the partitions have
// read of topics at which they stand still. Who revokes a run before that gives up what it
// has read since its last checkpoint: where the log holds it no more, or is to be read from
// further on, for ever.
//
// An owner says in its heartbeat where it stands. The second new one was made after Settle
// began, hence after the operator saw what to mend; one that stands still for as long as the
// dead's may be taken over from is nobody's word. waits hears what there is to wait for.
func Settle(ctx context.Context, st checkpoint.Store, chain *checkpoint.Chain, partitions []schemas.Partition, waits func(Unsealed)) (checkpoint.Manifest, error) {
	hearts := make(map[checkpoint.NodeID]*heart)
	tick := time.NewTicker(cluster.HeartbeatEvery / 4)
	defer tick.Stop()
	for {
		tip, err := chain.Tip(ctx)
		if err != nil {
			return tip, err
		}
		settled := true
		for _, p := range partitions {
			e, ok := tip.Entry(p)
			if !ok || e.Owner == "" {
				continue
			}
			h := hearts[e.Owner]
			if h == nil {
				h = &heart{}
				hearts[e.Owner] = h
			}
			if err := h.listen(ctx, st, tip.Namespace, e.Owner); err != nil {
				return tip, err
			}
			stopped, heard := h.stopped(p)
			settled = settled && heard
			for _, s := range stopped {
				if sealed := e.Next[s.Topic]; s.Next > sealed {
					waits(Unsealed{s, e.Owner, sealed})
					settled = false
				}
			}
		}
		if settled {
			return tip, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return tip, ctx.Err()
		}
	}
}

// heart is what was heard of a node.
type heart struct {
	mark  string
	since time.Time // of the first look that found mark
	looks time.Time
	gone  bool // it left none
	news  int  // heartbeats seen to follow another
	said  cluster.Heartbeat
}

// listen reads the heartbeat, if that was not done just now for another partition.
func (h *heart) listen(ctx context.Context, st checkpoint.Store, ns checkpoint.Namespace, id checkpoint.NodeID) error {
	now := time.Now()
	if now.Sub(h.looks) < cluster.HeartbeatEvery/8 {
		return nil
	}
	mark, said, err := cluster.ReadHeartbeat(ctx, st, ns, id)
	if h.gone = errors.Is(err, checkpoint.ErrNotFound); err != nil && !h.gone {
		return err
	}
	switch {
	case h.looks.IsZero():
		h.since = now
	case mark != h.mark:
		h.since = now
		h.news++
	}
	h.mark, h.said, h.looks = mark, said, now
	return nil
}

// stopped is where the node's run of p stands still; nowhere if the node is gone. heard is false
// until that is known.
func (h *heart) stopped(p schemas.Partition) (all []cluster.Stopped, heard bool) {
	switch {
	case h.gone || h.looks.Sub(h.since) >= cluster.HeartbeatPatience:
		return nil, true
	case h.news < 2:
		return nil, false
	}
	for _, s := range h.said.Stopped {
		if s.Partition == p {
			all = append(all, s)
		}
	}
	return all, true
}
