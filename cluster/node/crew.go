package node

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"taximeter/actors/coordinator"
	"taximeter/checkpoint"
	"taximeter/cluster"
	"taximeter/cluster/gossip"
	"taximeter/schemas"
)

// crew decides, again and again, which partitions this node runs: it compares what the
// chain says with whom gossip shows, and takes the next steps from the one to the other.
// Every node does the same by the same pure rules; the chain settles who was first.
//
// It belongs to one goroutine. Without gossip the node is alone and is given everything.
type crew struct {
	node   *Node
	chain  *checkpoint.Chain
	gossip *gossip.Gossip // nil = alone
	watch  *cluster.Watch
	began  time.Time // of the monotonic clock that watch is fed with

	started map[schemas.Partition]checkpoint.Incarnation // newest run begun here
	again   map[schemas.Partition]retry                  // partitions that failed here
	beats   int64
	beatAt  time.Time // when heartbeats are due next
	seated  bool      // the first steps are done: what is ours runs
	lives   lives

	quit chan struct{} // closed to end run
	done chan struct{} // closed by run
}

type retry struct {
	at    time.Time
	pause time.Duration
}

const (
	stepEvery      = 200 * time.Millisecond
	heartbeatEvery = 2 * time.Second
	// heartbeatPatience is how long a heartbeat must stand still before a minority may take
	// over: longer than any pause of a healthy node's object store.
	heartbeatPatience = 15 * time.Second
	startsAtOnce      = 4
)

// pace of planned moves: each stops one partition for the time of a seal and a start.
var pace = cluster.Pace{AtOnce: 4, PerReceiver: 2}

func newCrew(n *Node, g *gossip.Gossip) *crew {
	return &crew{node: n, chain: checkpoint.NewChain(n.store, n.ns), gossip: g, watch: cluster.NewWatch(heartbeatPatience, 4*heartbeatEvery),
		began: time.Now(), started: make(map[schemas.Partition]checkpoint.Incarnation), again: make(map[schemas.Partition]retry), quit: make(chan struct{}), done: make(chan struct{})}
}

// run steps until rest.
func (c *crew) run() {
	defer close(c.done)
	tick := time.NewTicker(stepEvery)
	defer tick.Stop()
	for {
		if err := c.step(c.node.ctx); err != nil && c.node.ctx.Err() == nil {
			c.node.log.Warn("placement makes no step; trying again", "err", err)
		}
		select {
		case <-tick.C:
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

// view is whom this node sees.
func (c *crew) view() cluster.View {
	if c.gossip != nil {
		return c.gossip.View()
	}
	self := c.node.member()
	return cluster.View{Self: self.ID, Joined: true, Members: []cluster.Member{self}}
}

// step looks once and does what is due.
func (c *crew) step(ctx context.Context) error {
	if c.gossip != nil {
		c.heartbeat(ctx)
	}
	tip, err := c.chain.Tip(ctx)
	if err != nil {
		return err
	}
	c.node.tip.Store(&tip)
	c.dropRevoked(tip)
	if c.lives.foreign(tip, c.node.id(), c.node.ours) {
		c.node.giveWay()
		return nil
	}
	view := c.view()
	self, ok := view.Member(view.Self)
	if !view.Joined || !ok || self.Duty == cluster.Resigned {
		return nil
	}
	if tip, err = c.members(ctx, tip, view, self); err != nil {
		return err
	}
	roster := view.Roster(tip)
	owners := ownersOf(tip)
	target := cluster.Place(roster, owners)
	if tip, err = c.claim(ctx, tip, target); err != nil {
		return err
	}
	c.begin(ctx, tip)
	c.move(ctx, tip, view, cluster.Plan(roster, owners, target, nil, pace))
	return nil
}

func ownersOf(tip checkpoint.Manifest) []checkpoint.NodeID {
	owners := make([]checkpoint.NodeID, len(tip.Entries))
	for p, e := range tip.Entries {
		owners[p] = e.Owner
	}
	return owners
}

// members makes this node a member, and takes over the dead: their partitions then rest
// until whoever they are placed with claims them.
func (c *crew) members(ctx context.Context, tip checkpoint.Manifest, view cluster.View, self cluster.Member) (checkpoint.Manifest, error) {
	var changes []checkpoint.Change
	if !tip.IsMember(self.ID) && self.Duty == cluster.Serving {
		changes = append(changes, checkpoint.Join{Node: self.ID})
	}
	if view.Coordinator(tip) == self.ID || len(view.Members) == 1 {
		for _, t := range cluster.TakeOvers(tip, view, c.watch) {
			c.node.log.Warn("taking over from a dead node", "node", t.Dead, "unchanged", t.Evidence.Unchanged)
			changes = append(changes, t)
			for p, e := range tip.Entries {
				if e.Owner == t.Dead {
					changes = append(changes, checkpoint.Start{Partition: schemas.Partition(p)})
				}
			}
		}
	}
	if len(changes) == 0 {
		return tip, nil
	}
	return c.node.assign(ctx, tip, changes)
}

// claim begins, in one manifest, a new run of what is placed here and nobody runs, and of
// what is ours in the chain but of an earlier life or of a run that failed.
func (c *crew) claim(ctx context.Context, tip checkpoint.Manifest, target []checkpoint.NodeID) (checkpoint.Manifest, error) {
	me := c.node.id()
	running := c.node.held()
	var changes []checkpoint.Change
	for p, e := range tip.Entries {
		p := schemas.Partition(p)
		unclaimed := e.Owner == "" && target[p] == me
		stale := e.Owner == me && running[p] == nil && (!c.node.ours(e) || c.started[p] == e.Incarnation)
		if (unclaimed || stale) && !time.Now().Before(c.again[p].at) {
			changes = append(changes, checkpoint.Start{Partition: p, Owner: me, Incarnation: c.node.incarnation(c.node.born, e.Epoch+1)})
		}
	}
	if len(changes) == 0 {
		return tip, nil
	}
	return c.node.assign(ctx, tip, changes)
}

// begin starts the runs that the chain gives to this life of the node.
func (c *crew) begin(ctx context.Context, tip checkpoint.Manifest) {
	running := c.node.held()
	slots := make(chan struct{}, startsAtOnce)
	for p, e := range tip.Entries {
		p := schemas.Partition(p)
		if !c.node.ours(e) || running[p] != nil || c.started[p] == e.Incarnation {
			continue
		}
		c.started[p] = e.Incarnation
		slots <- struct{}{}
		c.node.starting.Go(func() {
			defer func() { <-slots }()
			if _, err := c.node.startTask(ctx, p, e); err != nil && ctx.Err() == nil {
				c.node.log.Error("partition does not start; trying again", "partition", p, "err", err)
				c.node.firstFault(err)
			}
		})
	}
	c.node.starting.Wait()
	for p := range c.started {
		switch t := c.node.held()[p]; {
		case t != nil && t.failure.Load() == nil:
			if r, failed := c.again[p]; failed && time.Since(r.at) > r.pause {
				delete(c.again, p)
			}
		case c.node.ours(tip.Entries[p]) && !time.Now().Before(c.again[p].at):
			pause := min(max(2*c.again[p].pause, time.Second), 30*time.Second)
			c.again[p] = retry{time.Now().Add(pause), pause}
		}
	}
	c.seated = true
}

// dropRevoked ends the runs that the chain has taken from us.
func (c *crew) dropRevoked(tip checkpoint.Manifest) {
	for p, t := range c.node.held() {
		e := tip.Entries[p]
		if e.Incarnation == t.incarnation && e.Epoch == t.epoch && e.Owner == c.node.id() && t.failure.Load() == nil {
			continue
		}
		if e.Owner == c.node.id() && e.Incarnation != t.incarnation && !c.node.ours(e) {
			c.node.giveWay()
		}
		if err := t.stop(); err != nil {
			c.node.log.Warn("run did not end cleanly", "partition", p, "err", err)
		}
	}
}

// move hands over what is placed elsewhere, within the pace.
func (c *crew) move(ctx context.Context, tip checkpoint.Manifest, view cluster.View, plan []cluster.Move) {
	running := c.node.held()
	for _, m := range plan {
		t := running[m.Partition]
		to, ok := view.Member(m.To)
		if m.From != c.node.id() || t == nil || !ok || !tip.IsMember(m.To) {
			continue
		}
		began := time.Now()
		if err := c.node.handOver(ctx, t, to); err != nil {
			c.node.log.Warn("partition could not be handed over; it begins anew here", "partition", m.Partition, "to", m.To, "err", err)
			continue
		}
		c.node.log.Info("partition handed over", "partition", m.Partition, "to", m.To, "took", time.Since(began))
	}
}

// heartbeat puts our own and looks at the others'.
func (c *crew) heartbeat(ctx context.Context) {
	if time.Now().Before(c.beatAt) {
		return
	}
	c.beatAt = time.Now().Add(heartbeatEvery)
	ctx, cancel := context.WithTimeout(ctx, heartbeatEvery)
	defer cancel()
	c.beats++
	mark := fmt.Sprintf("%d %d", c.node.born, c.beats)
	if err := c.node.store.Put(ctx, c.node.ns.Node(c.node.id()), strings.NewReader(mark)); err != nil {
		c.watch.PutFailed()
		return
	}
	c.watch.Put(time.Since(c.began))
	tip := c.node.tip.Load()
	if tip == nil {
		return
	}
	c.watch.Forget(tip.Members)
	for _, id := range tip.Members {
		if id == c.node.id() {
			continue
		}
		mark, err := checkpoint.ReadAll(ctx, c.node.store, c.node.ns.Node(id))
		if err == nil || errors.Is(err, checkpoint.ErrNotFound) {
			c.watch.Saw(id, string(mark), time.Since(c.began))
		}
	}
}

// handOver ends a task with a last seal and gives its partition to another node.
func (n *Node) handOver(ctx context.Context, t *task, to cluster.Member) error {
	if err := n.source.Remove(t.partition); err != nil {
		return err
	}
	_, err := ask[checkpoint.Manifest](ctx, n, n.coordinator, &coordinator.Move{Task: t, To: to.ID,
		Incarnation: func(e checkpoint.Epoch) checkpoint.Incarnation { return n.incarnation(to.Life, e) }})
	return errors.Join(err, t.stop())
}

// incarnation of a run: a life of a node has one per partition and epoch, so whoever hands
// a partition over can name it.
func (n *Node) incarnation(life int64, e checkpoint.Epoch) checkpoint.Incarnation {
	return checkpoint.Incarnation(life) + checkpoint.Incarnation(e)
}

// ours reports whether the chain gives a run to this very life of the node.
func (n *Node) ours(e checkpoint.Entry) bool {
	return e.Owner == n.id() && e.Incarnation == n.incarnation(n.born, e.Epoch)
}

func (n *Node) id() checkpoint.NodeID { return checkpoint.NodeID(n.cfg.NodeID) }

// held is the tasks by partition.
func (n *Node) held() map[schemas.Partition]*task {
	n.mu.Lock()
	defer n.mu.Unlock()
	return maps.Clone(n.tasks)
}

// leave hands everything over and ends the membership, as far as there is somebody to take
// it. What remains waits for this node in the chain, or for others to take it over.
func (c *crew) leave(ctx context.Context) error {
	c.gossip.SetDuty(cluster.Draining)
	for len(c.node.held()) > 0 && c.others() {
		if err := c.step(ctx); err != nil {
			return err
		}
		select {
		case <-time.After(stepEvery / 4):
		case <-ctx.Done():
			return fmt.Errorf("%d partitions are not handed over: %w", len(c.node.held()), ctx.Err())
		}
	}
	if len(c.node.held()) > 0 {
		return nil // nobody to take them
	}
	tip, err := c.chain.Tip(ctx)
	if err != nil {
		return err
	}
	_, err = c.node.assign(ctx, tip, []checkpoint.Change{checkpoint.Leave{Node: c.node.id()}})
	return err
}

// others reports whether somebody else could take partitions.
func (c *crew) others() bool {
	return slices.ContainsFunc(c.gossip.View().Members, func(m cluster.Member) bool {
		return m.ID != c.node.id() && m.Duty == cluster.Serving && m.Weight > 0
	})
}
