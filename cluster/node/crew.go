package node

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"taximeter/actors/coordinator"
	"taximeter/actors/host"
	"taximeter/checkpoint"
	"taximeter/cluster"
	"taximeter/cluster/gossip"
	"taximeter/schemas"
)

// crew decides, again and again, which partitions this node runs: it compares what the
// chain says with whom gossip shows, and takes the next steps from the one to the other.
// Every node does the same by the same pure rules; the chain settles who was first.
//
// It belongs to one goroutine, and waits for no start: one that hangs must not keep the
// others from what is theirs. Without gossip the node is alone and is given everything.
type crew struct {
	node   *Node
	chain  *checkpoint.Chain
	gossip *gossip.Gossip // nil = alone
	pulse  *pulse         // nil = alone

	started map[schemas.Partition]checkpoint.Incarnation // newest run begun here
	starts  map[schemas.Partition]start                  // under way
	ends    chan startEnd                                // of starts; room for one of each partition
	slots   chan struct{}                                // held by starts that work
	again   map[schemas.Partition]retry                  // partitions that failed here
	waits   map[schemas.Partition]wait                   // planned moves whose receiver has no copy yet
	asked   asking                                       // for their sake
	seated  bool                                         // the first steps are done: what is ours runs
	ready   preparing
	lives   lives
	lonely  lonely
	strange atomic.Pointer[error] // why this node cannot follow the chain, and runs nothing; nil = it can. Others may read it

	wake chan struct{} // one slot: look again now
	quit chan struct{} // closed to end run
	done chan struct{} // closed by run
}

type (
	// start is a run that is being started.
	start struct {
		incarnation checkpoint.Incarnation
		cancel      context.CancelFunc
	}
	// startEnd is how a start ended.
	startEnd struct {
		partition schemas.Partition
		err       error
	}
	// retry says when a partition that failed here may begin again.
	retry struct {
		at    time.Time
		pause time.Duration
	}
)

const (
	stepEvery = 200 * time.Millisecond
	// moveStepEvery is for whoever waits for a partition that another hands over.
	moveStepEvery = 25 * time.Millisecond
	// troubledStepEvery follows a step that failed.
	troubledStepEvery = time.Second
	startsAtOnce      = 4
	firstRetry        = time.Second
	lastRetry         = 30 * time.Second
)

// pace of planned moves: each stops one partition for the time of a seal and a start.
var pace = cluster.Pace{AtOnce: 4, PerReceiver: 2}

func newCrew(n *Node, g *gossip.Gossip) *crew {
	c := &crew{node: n, chain: checkpoint.NewChain(n.store, n.ns), gossip: g,
		started: make(map[schemas.Partition]checkpoint.Incarnation), starts: make(map[schemas.Partition]start), ends: make(chan startEnd, n.partitions),
		slots: make(chan struct{}, startsAtOnce), again: make(map[schemas.Partition]retry), waits: make(map[schemas.Partition]wait),
		wake: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan struct{})}
	if g != nil {
		c.pulse = newPulse(n, g.SetDuty, n.source.Answered)
	}
	return c
}

// run steps until rest.
func (c *crew) run() {
	defer close(c.done)
	var views <-chan cluster.View
	if c.gossip != nil {
		views = c.gossip.Views()
	}
	for {
		next, err := c.step(c.node.ctx)
		switch {
		case errors.Is(err, coordinator.ErrDecidedAnew):
			next = moveStepEvery
		case c.strange.Load() != nil: // told
			next = troubledStepEvery
		case err != nil && c.node.ctx.Err() == nil:
			c.node.log.Warn("placement makes no step; trying again", "err", err)
			next = troubledStepEvery
		}
		select {
		case <-time.After(next):
		case <-c.wake:
		case <-views:
		case <-c.quit:
			return
		case <-c.node.ctx.Done():
			return
		}
	}
}

// rest ends run; from then on the caller may step.
func (c *crew) rest() {
	close(c.quit)
	<-c.done
}

// poke lets run look at the chain now.
func (c *crew) poke() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// view is whom this node sees.
func (c *crew) view() cluster.View {
	if c.gossip != nil {
		return c.gossip.View()
	}
	self := c.node.member()
	return cluster.View{Self: self.ID, Joined: true, Members: []cluster.Member{self}}
}

// step looks once and does what is due; the next is due after next.
func (c *crew) step(ctx context.Context) (next time.Duration, err error) {
	c.learn()
	if made := c.node.rounds.Load(); made != nil {
		c.chain.From(made.Tip) // what was made here need not be read
	}
	tip, err := c.chain.Tip(ctx)
	if err == nil {
		err = c.node.cfg.Cluster.speaks().Understands(tip, c.node.id())
	}
	if c.estrange(err); err != nil {
		return 0, err
	}
	seen := tip // others read it while tip goes on
	c.node.tip.Store(&seen)
	c.dropRevoked(tip)
	foreign, err := c.lives.foreign(tip, c.node.id(), c.node.ours, func(p int) (checkpoint.NodeID, error) { return c.begunBy(ctx, tip, p) })
	if err != nil {
		return 0, err
	}
	if foreign {
		c.node.giveWay()
	}
	view := c.view()
	self, ok := view.Member(view.Self)
	c.lonely.tell(c.node.log, !c.met(tip, view), tip.Members)
	if !c.met(tip, view) || !ok || self.Duty == cluster.Resigned || c.node.gaveWay() {
		return stepEvery, nil
	}
	if tip, err = c.members(ctx, tip, view, self); err != nil {
		return 0, err
	}
	roster := view.Roster(tip)
	owners := ownersOf(tip)
	target := cluster.Place(roster, owners)
	if tip, err = c.claim(ctx, tip, target); err != nil {
		return 0, err
	}
	c.begin(tip)
	c.seated = c.seated || len(c.starts) == 0
	plan := cluster.Plan(roster, owners, target, nil, pace)
	c.node.standby.wants(tip, cluster.Warm(self.ID, roster, owners, target, plan, c.node.cfg.Cluster.Standbys), target)
	c.ready.prepare(c.node, owners, target)
	return c.move(ctx, tip, view, plan), nil
}

// met reports whether this node may act: it has met others, was told to begin, or the chain
// knows of no other.
func (c *crew) met(tip checkpoint.Manifest, view cluster.View) bool {
	return view.Joined || len(tip.Members) == 1 && tip.IsMember(view.Self)
}

// learn takes note of the starts that have ended.
func (c *crew) learn() {
	for {
		select {
		case end := <-c.ends:
			p := end.partition
			delete(c.starts, p)
			switch {
			case end.err == nil:
			case errors.Is(end.err, context.Canceled), errors.Is(end.err, host.ErrRevoked): // or the node ends; the chain says who begins it
			default:
				c.node.log.Error("partition does not start; trying again", "partition", p, "err", end.err)
				c.node.firstFault(end.err)
				c.later(p)
			}
		default:
			return
		}
	}
}

// later puts off the next attempt at a partition that failed, the longer the more often
// it did.
func (c *crew) later(p schemas.Partition) {
	r := c.again[p]
	if time.Since(r.at) > r.pause+lastRetry { // it ran well in between
		r.pause = 0
	}
	r.pause = min(max(2*r.pause, firstRetry), lastRetry)
	r.at = time.Now().Add(r.pause)
	c.again[p] = r
}

// dropRevoked ends the runs that the chain has taken from us, and those that failed.
func (c *crew) dropRevoked(tip checkpoint.Manifest) {
	for p, s := range c.starts {
		if e := tip.Entries[p]; e.Incarnation != s.incarnation || e.Owner != c.node.id() {
			s.cancel()
		}
	}
	for p, t := range c.node.held() {
		e := tip.Entries[p]
		switch {
		case t.stopping.Load():
			continue
		case e.Incarnation != t.incarnation || e.Epoch != t.epoch || e.Owner != c.node.id():
			c.node.log.Warn("partition was taken over; what this run still writes is refused", "partition", p, "owner", e.Owner, "epoch", e.Epoch)
			c.node.revoked.Add(1)
		case t.failure.Load() != nil:
			c.later(p)
		default:
			continue
		}
		c.end(t)
	}
}

// end stops a run without waiting for it; until it is gone no other is begun here.
func (c *crew) end(t *task) {
	if !t.stopping.CompareAndSwap(false, true) {
		return
	}
	c.node.starting.Go(func() {
		if err := t.stop(); err != nil {
			c.node.log.Warn("run did not end cleanly", "partition", t.partition, "err", err)
		}
		c.poke()
	})
}
