package node

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"taximeter/actors/coordinator"
	"taximeter/checkpoint"
	"taximeter/cluster"
	"taximeter/schemas"
)

// move hands over one partition that is placed elsewhere and awaited there, if there is one, and says when to
// look again: at once after a move, soon when others have some for us.
func (c *crew) move(ctx context.Context, tip checkpoint.Manifest, view cluster.View, plan []cluster.Move) time.Duration {
	next := stepEvery
	running := c.node.held()
	maps.DeleteFunc(c.waits, func(p schemas.Partition, _ wait) bool {
		return !slices.ContainsFunc(plan, func(m cluster.Move) bool { return m.Partition == p })
	})
	for _, m := range plan {
		if m.To == c.node.id() {
			next = moveStepEvery
		}
		t := running[m.Partition]
		to, ok := view.Member(m.To)
		if m.From != c.node.id() || t == nil || t.stopping.Load() || !ok || !tip.IsMember(m.To) {
			continue
		}
		if !c.warm(ctx, tip, view, t, to) {
			continue
		}
		stood, moved, err := c.handOver(ctx, t, to)
		switch {
		case err != nil && stood == 0:
			c.node.log.Warn("move of a partition is put off: it goes on here", "partition", m.Partition, "to", m.To, "err", err)
			return stepEvery
		case err != nil:
			c.node.log.Warn("partition could not be handed over; the chain says who runs it", "partition", m.Partition, "to", m.To, "err", err)
			return stepEvery
		}
		c.node.log.Info("partition handed over", "partition", m.Partition, "to", m.To, "took", stood, "quieted", moved.Quieted, "sealed", moved.Sealed, "entered", moved.Entered)
		return 0
	}
	return next
}

// errNotItsTurn is a move that was withdrawn while others were before it: the partition goes
// on here, as if nothing had been.
var errNotItsTurn = errors.New("checkpoints and other moves take too long")

// handOver ends a task with a last seal and gives its partition to another node; its time runs
// from when its turn has come. stood is since when nobody has read it; 0 = it was not stopped.
func (c *crew) handOver(ctx context.Context, t *task, to cluster.Member) (stood time.Duration, moved coordinator.Moved, err error) {
	n := c.node
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	deadline := n.cfg.Checkpoint.Deadline
	timer := time.AfterFunc(deadline, cancel)
	defer timer.Stop()
	var turn atomic.Pointer[time.Time] // when it came; set once, here if it is withdrawn
	moved, err = ask[coordinator.Moved](ctx, n, n.coordinator, &coordinator.Move{Task: t, To: to.ID,
		Quiesce: func() error {
			now := time.Now()
			if !timer.Stop() || !turn.CompareAndSwap(nil, &now) {
				return errNotItsTurn
			}
			timer.Reset(deadline)
			t.quiesced.Store(true)
			return n.source.Remove(t.partition)
		},
		Incarnation: func(e checkpoint.Epoch) checkpoint.Incarnation { return n.incarnation(to.Life, e) }})
	if turn.CompareAndSwap(nil, &time.Time{}) { // its input has not been ended
		if err == nil || errors.Is(err, context.Canceled) {
			err = errNotItsTurn
		}
		return 0, moved, err
	}
	stood = time.Since(*turn.Load())
	c.end(t)
	return stood, moved, err
}

// settleReserve is kept of the time that a node has to stop: to commit and publish what it
// could not hand over, and to leave.
const settleReserve = 10 * time.Second

// drain hands everything over, as far as there is somebody to take it and time. What is left
// is sealed here and rests: the others start it from that checkpoint.
func (c *crew) drain(ctx context.Context) {
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline.Add(-min(settleReserve, time.Until(deadline)/2)))
		defer cancel()
	}
	c.pulse.drain()
	for {
		_, err := c.step(ctx)
		next := stepEvery / 4
		tip := c.node.tip.Load()
		switch {
		case c.node.gaveWay(), c.strange.Load() != nil:
			return
		case err == nil && len(tip.Owned(c.node.id())) == 0 && len(c.node.held()) == 0, !c.others():
			return
		case err != nil && !errors.Is(err, coordinator.ErrDecidedAnew):
			c.node.log.Warn("no partition can be handed over; trying again", "err", err)
			next = troubledStepEvery
		}
		select {
		case <-time.After(next):
		case <-ctx.Done():
			c.node.log.Warn("not everything could be handed over in time: what is left is sealed, and the others start it from there", "partitions", len(c.node.held()))
			return
		}
	}
}

// leave ends the membership; what the chain still gives to this node rests, so that
// whoever comes need not wait until this node is called dead.
func (c *crew) leave(ctx context.Context) error {
	for {
		tip, err := c.chain.Tip(ctx)
		if err != nil {
			return err
		}
		if !tip.IsMember(c.node.id()) || c.node.gaveWay() {
			return nil
		}
		var changes []checkpoint.Change
		for _, p := range tip.Owned(c.node.id()) {
			changes = append(changes, checkpoint.Start{Partition: p})
		}
		_, err = c.node.assign(ctx, tip, append(changes, checkpoint.Leave{Node: c.node.id()}))
		if !errors.Is(err, checkpoint.ErrRefused) && !errors.Is(err, coordinator.ErrDecidedAnew) {
			return err
		}
		// Somebody who has not heard yet that we go has given us a partition meanwhile, or
		// others moved some among them.
	}
}

// farewell tells the others at once what the chain tells them anyway.
func (c *crew) farewell(ctx context.Context) {
	const most = time.Second // it waits for others who may be going, too
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	if err := c.gossip.Leave(ctx); err != nil {
		c.node.log.Info("went without a word", "err", err)
	}
}

// others reports whether somebody else could take partitions.
func (c *crew) others() bool {
	return slices.ContainsFunc(c.gossip.View().Members, func(m cluster.Member) bool {
		return m.ID != c.node.id() && m.Duty == cluster.Serving && m.Weight > 0
	})
}
