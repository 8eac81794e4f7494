package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"taximeter/actors/partition"
	"taximeter/checkpoint"
	"taximeter/cluster/admin"
	"taximeter/schemas"
	"taximeter/sinks"
	"taximeter/sinks/analytics"
)

// table feeds one sink that takes the outboxes of all partitions: the owner of one of them
// does it, and any other node may without harm. The others only watch how far it has come,
// because an outbox stays in the chain until every sink has it.
//
// A sink that is slow or down holds back nothing but its own outboxes.
type table struct {
	node *Node
	sinks.Configured
	duty   schemas.Partition      // whose owner feeds it
	sink   sinks.Sink             // run's; nil = not reached yet
	keeper atomic.Pointer[keeper] // the sink, if it needs one

	held  atomic.Int64 // checkpoint.Number up to which nothing is missing
	state atomic.Pointer[tableState]
}

// tableState is what the last attempt brought.
type tableState struct {
	feeds bool
	err   error
}

const (
	// outboxesAtOnce bounds what one commit holds in memory.
	outboxesAtOnce = 240
	tableTimeout   = 5 * time.Minute // for one commit
	longestPause   = 10 * time.Second
	keepEvery      = 5 * time.Minute // maintenance
)

// run follows the chain until the node ends.
func (t *table) run() {
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	var seen checkpoint.Number // tip that was followed
	pause, next := firstTablePause, time.Time{}
	for {
		select {
		case <-tick.C:
		case <-t.node.ctx.Done():
			return
		}
		tip := t.node.newestTip()
		if tip == nil || tip.Number == seen && t.held.Load() >= int64(seen) || time.Now().Before(next) {
			continue
		}
		if !fed(*tip, t.Name) {
			t.report(false, errForgotten)
			seen = tip.Number
			continue
		}
		feeds := tip.Entries[t.duty].Owner == t.node.id()
		ctx, cancel := context.WithTimeout(t.node.ctx, tableTimeout)
		err := t.follow(ctx, feeds)
		cancel()
		if t.node.ctx.Err() != nil {
			return
		}
		t.report(feeds, err)
		seen = tip.Number
		switch {
		case err != nil:
			next = time.Now().Add(pause)
			pause = min(2*pause, longestPause)
		case !feeds: // somebody else does: look again in a while
			next = time.Now().Add(t.node.cfg.Checkpoint.Interval / 4)
			pause = firstTablePause
		default:
			pause = firstTablePause
		}
	}
}

// errForgotten is a sink that the namespace feeds no more by an operator's word, also while
// nodes run that have it configured: what waits for it may be holding up the bills.
var errForgotten = errors.New("the namespace has forgotten it (taximeter checkpoint forget-sink): take it out of this node's configuration; a node that starts with it feeds it anew")

func fed(tip checkpoint.Manifest, name string) bool {
	return slices.ContainsFunc(tip.Sinks, func(f checkpoint.Fed) bool { return f.Name == name })
}

const firstTablePause = 200 * time.Millisecond

func (t *table) report(feeds bool, err error) {
	before := t.state.Swap(&tableState{feeds, err})
	switch failed := before != nil && before.err != nil; {
	case err != nil && (!failed || before.err.Error() != err.Error()):
		t.node.log.Error("a sink cannot be fed; it will be tried again, everything else goes on", "sink", t.Name, "err", err)
	case err == nil && failed:
		t.node.log.Info("the sink is fed again", "sink", t.Name)
	}
}

// follow brings the sink up to the chain's tip if it is on us to feed it, and learns how
// far it is.
func (t *table) follow(ctx context.Context, feed bool) error {
	if err := t.reach(ctx); err != nil {
		return err
	}
	for {
		// The order matters: what is no longer pending when the chain is read, the sink had
		// before, and then a commit that begins from the earlier progress is refused.
		from, err := t.sink.Progress(ctx)
		if err != nil {
			return err
		}
		tip, err := checkpoint.NewChain(t.node.store, t.node.ns).Tip(ctx)
		if err != nil {
			return err
		}
		t.held.Store(max(t.held.Load(), int64(from.Made)))
		if !feed {
			return nil
		}
		done, err := t.step(ctx, tip, from)
		if err != nil && !errors.Is(err, sinks.ErrMoved) || done {
			return err
		}
	}
}

// step is one commit; done tells that nothing is missing up to the tip.
func (t *table) step(ctx context.Context, tip checkpoint.Manifest, from sinks.Progress) (done bool, err error) {
	if from.Restores < len(tip.Restores) {
		return false, t.sink.Rewind(ctx, from, tip.Restores[from.Restores])
	}
	refs, to, err := sinks.Due(tip, from, outboxesAtOnce)
	if err != nil {
		return false, err
	}
	if len(refs) == 0 { // nothing to commit, hence no commit
		t.held.Store(int64(to.Made))
		return true, nil
	}
	items := make([]sinks.Item, len(refs))
	for i, r := range refs {
		o, err := t.node.readOutbox(ctx, r.Partition, r.OutboxRef)
		if err != nil {
			return false, fmt.Errorf("outbox %d of partition %d: %w", r.Made, r.Partition, err)
		}
		items[i] = sinks.Item{Partition: r.Partition, Made: r.Made, Outbox: o, Abandoned: r.Abandoned}
	}
	return false, t.sink.Commit(ctx, from, to, items)
}

func (t *table) status() admin.SinkStatus {
	st := admin.SinkStatus{Name: t.Name, Held: t.held.Load()}
	if last := t.state.Load(); last != nil {
		st.Feeds = last.feeds
		if last.err != nil {
			st.Error = last.err.Error()
		}
	}
	return st
}

// heldByTables is the least number up to which every sink of tables lacks nothing. Of one
// that only other nodes know it says 0: they let go of its outboxes.
func (n *Node) heldByTables(upTo checkpoint.Number) checkpoint.Number {
	tip := n.newestTip()
	for _, t := range n.tables {
		if tip == nil || fed(*tip, t.Name) {
			upTo = min(upTo, checkpoint.Number(t.held.Load()))
		}
	}
	if tip != nil && n.unknownSink(*tip) != "" {
		return 0
	}
	return upTo
}

// unknownSink is a sink that the namespace feeds and this node does not know; "" = none.
func (n *Node) unknownSink(tip checkpoint.Manifest) string {
	for _, f := range tip.Sinks {
		if !slices.ContainsFunc(n.tables, func(t *table) bool { return t.Name == f.Name }) {
			return f.Name
		}
	}
	return ""
}

// tell is what the namespace's sinks need to be told.
func tell(tip checkpoint.Manifest) (t partition.Tell) {
	for _, f := range tip.Sinks {
		t.Verdicts, t.Trips = t.Verdicts || f.Verdicts, t.Trips || f.Trips
	}
	return t
}

// newestTip is the newest manifest that this process has seen; nil = none yet.
func (n *Node) newestTip() *checkpoint.Manifest {
	tip := n.tip.Load()
	if rounds := n.rounds.Load(); rounds != nil && (tip == nil || rounds.Tip.Number > tip.Number) {
		tip = &rounds.Tip
	}
	return tip
}

// readOutbox reads what a pending reference cites.
func (n *Node) readOutbox(ctx context.Context, p schemas.Partition, ref checkpoint.OutboxRef) (schemas.Outbox, error) {
	n.mu.Lock()
	t := n.tasks[p]
	n.mu.Unlock()
	if t != nil {
		if newest := t.outbox.Load(); newest != nil && newest.key == ref.File.Key {
			return newest.content, nil
		}
	}
	data, err := checkpoint.ReadFile(ctx, n.store, ref.File)
	if err != nil {
		return schemas.Outbox{}, err
	}
	return checkpoint.DecodeOutbox(ref.File.Key, data)
}

// openTables makes the sinks of tables ready, and the chain know of them.
func (n *Node) openTables(ctx context.Context) error {
	for i, c := range n.configuredTables() {
		t := &table{node: n, Configured: c, duty: schemas.Partition(i % n.partitions)}
		// A sink that is down is reached later; one that can never be used stops the start.
		if err := t.reach(ctx); errors.Is(err, sinks.ErrRefused) {
			return err
		}
		n.tables = append(n.tables, t)
	}
	chain := checkpoint.NewChain(n.store, n.ns)
	for {
		tip, err := chain.Tip(ctx)
		if err != nil {
			return err
		}
		if unknown := n.unknownSink(tip); unknown != "" {
			return fmt.Errorf("namespace %q feeds the sink %s and this node is not configured for it: give every node the same lake and analytics settings, "+
				"or end it for good with `taximeter checkpoint forget-sink %s`", n.ns, unknown, unknown)
		}
		var changes []checkpoint.Change
		if top := n.cfg.Cluster.speaks().Max; len(n.tables) > 0 && top > tip.Speaks() && n.soleMember(tip) {
			changes = append(changes, checkpoint.Speak{Protocol: top}) // of several, their coordinator does it
		}
		for _, t := range n.tables {
			fed := checkpoint.Fed{Name: t.Name, Verdicts: t.Wants.Verdicts, Trips: t.Wants.Trips}
			if !slices.Contains(tip.Sinks, fed) {
				changes = append(changes, checkpoint.Feed{Fed: fed})
			}
		}
		if len(changes) == 0 {
			return nil
		}
		next, err := checkpoint.Assign(tip, n.limits(), checkpoint.Stamp{At: n.clock.now(), By: n.id(), Token: n.token()}, changes...)
		if err != nil {
			return err
		}
		if _, _, err := chain.Commit(ctx, next); err != nil {
			return err
		}
	}
}

func (n *Node) soleMember(tip checkpoint.Manifest) bool {
	return len(tip.Members) == 0 || len(tip.Members) == 1 && tip.IsMember(n.id())
}

// configuredTables lists the sinks of tables that this node is to feed.
func (n *Node) configuredTables() []sinks.Configured {
	all := slices.Clone(n.o.Tables)
	if n.cfg.Lake.Enabled() {
		all = append(all, sinks.Configured{Name: "lake", Wants: sinks.Wants{Verdicts: true}, Open: n.openLake})
	}
	if url := n.cfg.Analytics.URL; url != "" {
		all = append(all, sinks.Configured{Name: "analytics", Wants: sinks.Wants{Trips: true},
			Open: func(ctx context.Context) (sinks.Sink, error) { return analytics.Open(ctx, url, n.cfg.Namespace, n.log) }})
	}
	return all
}

// reach opens the sink unless it is open.
func (t *table) reach(ctx context.Context) error {
	if t.sink != nil {
		return nil
	}
	s, err := t.Open(ctx)
	if err != nil {
		return err
	}
	t.sink = s
	if k, ok := s.(keeper); ok {
		t.keeper.Store(&k)
	}
	return nil
}

func (n *Node) closeTables() {
	for _, t := range n.tables {
		if t.sink == nil {
			continue
		}
		if err := t.sink.Close(); err != nil {
			n.log.Warn("a sink did not end cleanly", "sink", t.Name, "err", err)
		}
	}
}
