package node

import (
	"context"
	"maps"
	"slices"
	"time"

	"taximeter/checkpoint"
	"taximeter/cluster"
	"taximeter/schemas"
)

// members makes this node a member if it sees the others, and takes over the dead: whoever
// holds a copy of one of their partitions is given it at once.
func (c *crew) members(ctx context.Context, tip checkpoint.Manifest, view cluster.View, self cluster.Member) (checkpoint.Manifest, error) {
	var changes []checkpoint.Change
	if !tip.IsMember(self.ID) && self.Duty == cluster.Serving && view.Admits(tip) {
		changes = append(changes, checkpoint.Join{Node: self.ID})
	}
	dead := c.takeOvers(tip, view)
	if len(dead) > 0 {
		changes = append(changes, c.replace(tip, view, dead)...)
	}
	if version, ok := view.Raise(tip); ok && len(changes) == 0 && view.Coordinator(tip) == view.Self {
		c.node.log.Info("all members speak a later protocol: from now on so does the namespace", "protocol", version, "before", tip.Speaks())
		changes = append(changes, checkpoint.Speak{Protocol: version})
	}
	if len(changes) == 0 {
		return tip, nil
	}
	next, err := c.node.assign(ctx, tip, changes)
	if err == nil && len(dead) > 0 {
		c.pulse.ended(deadOf(dead))
	}
	return next, err
}

// replace ends the membership of the dead and gives away what they ran; what nobody can
// take rests.
func (c *crew) replace(tip checkpoint.Manifest, view cluster.View, all []checkpoint.TakeOver) (changes []checkpoint.Change) {
	dead := deadOf(all)
	owners := ownersOf(tip)
	next := cluster.Successors(view.Roster(tip), owners, dead, c.pulse.held())
	for _, t := range all {
		c.node.log.Warn("taking over from a dead node", "node", t.Dead, "unchanged", t.Evidence.Unchanged)
		changes = append(changes, t)
	}
	for p, owner := range owners {
		if !slices.Contains(dead, owner) {
			continue
		}
		begin := checkpoint.Start{Partition: schemas.Partition(p)}
		if to, ok := view.Member(next[p]); ok && !slices.Contains(dead, next[p]) {
			begin.Owner, begin.Incarnation = to.ID, c.node.incarnation(to.Life, tip.Entries[p].Epoch+1)
		}
		changes = append(changes, begin)
	}
	return changes
}

func deadOf(all []checkpoint.TakeOver) []checkpoint.NodeID {
	dead := make([]checkpoint.NodeID, len(all))
	for i, t := range all {
		dead[i] = t.Dead
	}
	return dead
}

// takeOvers are those that are this node's to do: of the living the first one acts. Whoever
// may be taken over is not counted among them, though gossip still calls it alive: else a
// coordinator that hangs would never be replaced.
func (c *crew) takeOvers(tip checkpoint.Manifest, view cluster.View) []checkpoint.TakeOver {
	if c.pulse == nil {
		return nil
	}
	all := c.pulse.takeOvers(tip, view)
	if view.Without(deadOf(all)).Coordinator(tip) != view.Self {
		return nil
	}
	return all
}

// claim begins, in one manifest, a new run of what is placed here and nobody runs, and of
// what is ours in the chain but of an earlier life or of a run that failed.
func (c *crew) claim(ctx context.Context, tip checkpoint.Manifest, target []checkpoint.NodeID) (checkpoint.Manifest, error) {
	me := c.node.id()
	running := c.node.held()
	var changes []checkpoint.Change
	for p, e := range tip.Entries {
		p := schemas.Partition(p)
		_, starting := c.starts[p]
		busy := starting || running[p] != nil
		unclaimed := e.Owner == "" && target[p] == me
		stale := e.Owner == me && (!c.node.ours(e) || c.started[p] == e.Incarnation)
		if !busy && (unclaimed || stale) && !time.Now().Before(c.again[p].at) {
			changes = append(changes, checkpoint.Start{Partition: p, Owner: me, Incarnation: c.node.incarnation(c.node.born, e.Epoch+1)})
		}
	}
	if len(changes) == 0 {
		return tip, nil
	}
	return c.node.assign(ctx, tip, changes)
}

// begin starts the runs that the chain gives to this life of the node.
func (c *crew) begin(tip checkpoint.Manifest) {
	running := c.node.held()
	for p, e := range tip.Entries {
		p := schemas.Partition(p)
		if _, starting := c.starts[p]; !starting && running[p] == nil && c.node.ours(e) && c.started[p] != e.Incarnation {
			c.start(p, e)
		}
	}
}

// start begins a run beside the crew.
func (c *crew) start(p schemas.Partition, e checkpoint.Entry) {
	ctx, cancel := context.WithCancel(c.node.ctx)
	c.started[p], c.starts[p] = e.Incarnation, start{e.Incarnation, cancel}
	c.node.starting.Go(func() {
		defer cancel()
		var err error
		select {
		case c.slots <- struct{}{}:
			c.node.standby.makeWay()
			_, err = c.node.startTask(ctx, p, e)
			<-c.slots
			c.node.standby.poke()
		case <-ctx.Done():
			err = ctx.Err()
		}
		c.ends <- startEnd{p, err}
		c.poke()
		if err := removeAside(c.node.home(p)); err != nil {
			c.node.log.Warn("state of an earlier run stays behind until the next start", "partition", p, "err", err)
		}
	})
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

func ownersOf(tip checkpoint.Manifest) []checkpoint.NodeID {
	owners := make([]checkpoint.NodeID, len(tip.Entries))
	for p, e := range tip.Entries {
		owners[p] = e.Owner
	}
	return owners
}
