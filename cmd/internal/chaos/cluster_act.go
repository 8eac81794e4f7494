package chaos

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"

	"taximeter/checkpoint"
	"taximeter/cluster/admin"
	"taximeter/cmd/internal/chaos/inject"
	"taximeter/schemas"
)

// act lets one thing happen, undoes it and waits until the cluster is whole.
func (c *clusterRun) act(ctx context.Context, a Act) error {
	f := c.fleet
	m := f.nodes[a.Node]
	switch a.Kind {
	case Join:
		return c.join(ctx)
	case Leave:
		return c.leave(ctx, m, a.For)
	case Grow:
		m, err := f.add(c.cs.Seed)
		if err != nil {
			return err
		}
		c.cs.Nodes++
		return c.arrive(ctx, m)
	case Upgrade:
		return c.upgrade(ctx)
	case Kill:
		return c.kill(ctx, m, a.For)
	case Zombie:
		return c.zombie(ctx, m, a.Plan)
	case Split:
		return c.split(ctx, a.For)
	case Outage:
		return c.outage(ctx, a.For)
	case Rolling:
		for _, m := range f.nodes[:c.cs.Nodes] {
			if err := c.leave(ctx, m, 0); err != nil {
				return err
			}
		}
		return nil
	case Reboot:
		return c.reboot(ctx, 0)
	case SeedDead:
		return c.reboot(ctx, time.Second)
	case Flap:
		for range 3 {
			if err := c.without(ctx, m, CutOff, a.For); err != nil {
				return err
			}
			pause(ctx, a.For)
		}
		return f.whole(ctx)
	}
	if err := c.without(ctx, m, a.Kind, a.For); err != nil {
		return err
	}
	return c.rejoined(ctx)
}

// join lets one node more come, and go again.
func (c *clusterRun) join(ctx context.Context) error {
	if len(c.fleet.nodes) == c.cs.Nodes {
		if _, err := c.fleet.add(c.cs.Seed); err != nil {
			return err
		}
	}
	m := c.fleet.nodes[c.cs.Nodes]
	if err := c.arrive(ctx, m); err != nil {
		return err
	}
	if err := c.fleet.stop(ctx, m); err != nil {
		return err
	}
	return c.fleet.whole(ctx)
}

// arrive starts a node and waits until it has its share.
func (c *clusterRun) arrive(ctx context.Context, m *member) error {
	began := time.Now()
	if err := c.fleet.start(m, life{}); err != nil {
		return err
	}
	if err := c.fleet.whole(ctx); err != nil {
		return err
	}
	c.times.Join = append(c.times.Join, time.Since(began))
	return nil
}

func (c *clusterRun) leave(ctx context.Context, m *member, away time.Duration) error {
	if err := c.fleet.stop(ctx, m); err != nil {
		return err
	}
	if away > 0 {
		pause(ctx, away)
		if err := c.fleet.whole(ctx); err != nil {
			return err
		}
	}
	return c.arrive(ctx, m)
}

// kill ends a node as a crash does, and starts it again when the others run what was its,
// or before they noticed.
func (c *clusterRun) kill(ctx context.Context, m *member, away time.Duration) error {
	const unnoticed = 500 * time.Millisecond
	if err := c.warm(ctx); err != nil {
		return err
	}
	flows, err := c.flows(ctx, m)
	if err != nil {
		return err
	}
	died := time.Now()
	if err := c.fleet.bury(m); err != nil {
		return err
	}
	if away < unnoticed {
		pause(ctx, away)
		return c.arrive(ctx, m)
	}
	if err := c.takenOver(ctx, m, flows); err != nil {
		return err
	}
	c.times.TakeOver = append(c.times.TakeOver, time.Since(died))
	return c.arrive(ctx, m)
}

// zombie starts a node anew that will stop in the middle of a write, lets the others take
// over, and wakes it.
func (c *clusterRun) zombie(ctx context.Context, m *member, plan inject.Plan) error {
	const patience = 15 * time.Second
	if err := c.fleet.stop(ctx, m); err != nil {
		return err
	}
	if err := c.fleet.start(m, life{plan: plan}); err != nil {
		return err
	}
	if until(ctx, patience, m.process.frozen) != nil { // it did not come to that point so often
		return c.kill(ctx, m, patience)
	}
	began := time.Now()
	m.away.Store(true)
	flows, err := c.flows(ctx, m)
	if err == nil {
		err = c.takenOver(ctx, m, flows)
	}
	c.times.TakeOver = append(c.times.TakeOver, time.Since(began))
	m.away.Store(false)
	if err := errors.Join(err, m.process.signal(syscall.SIGCONT)); err != nil {
		return err
	}
	healed := time.Now()
	if err := c.fleet.whole(ctx); err != nil {
		return err
	}
	c.times.Rejoin = append(c.times.Rejoin, time.Since(healed))
	return nil
}

// split hides the smaller half from the others, while all of them reach Kafka and the store.
// Which side the chain then prefers is open, since both can work. But every partition must
// run, and they must come to rest: none takes from the other again and again.
func (c *clusterRun) split(ctx context.Context, d time.Duration) error {
	const settling, quiet = 20 * time.Second, 3 * time.Second
	f := c.fleet
	if f.lan.loopback() {
		return nil // nothing can be hidden there
	}
	all := f.nodes[:c.cs.Nodes]
	few := (len(all) - 1) / 2
	if err := f.lan.split(all, few, true); err != nil {
		return err
	}
	pause(ctx, d)
	began := time.Now()
	for since := began; time.Since(since) < quiet; {
		before, err := c.tip(ctx)
		if err != nil {
			return err
		}
		pause(ctx, 10*pollEvery)
		after, err := c.tip(ctx)
		if err != nil {
			return err
		}
		if assignments(before, after) > 0 || c.resting(ctx, after) {
			since = time.Now()
		}
		if time.Since(began) > settling {
			return fmt.Errorf("%s after the split the halves still take from each other, or a partition does not run (manifest %d)", d+settling, after.Number)
		}
	}
	if err := f.lan.split(all, few, false); err != nil {
		return err
	}
	return c.rejoined(ctx)
}

// rejoined waits until a cluster that has just been healed is whole again.
func (c *clusterRun) rejoined(ctx context.Context) error {
	healed := time.Now()
	if err := c.fleet.whole(ctx); err != nil {
		return err
	}
	c.times.Rejoin = append(c.times.Rejoin, time.Since(healed))
	return nil
}

// resting reports whether some partition does not run where the chain says.
func (c *clusterRun) resting(ctx context.Context, tip checkpoint.Manifest) bool {
	running := 0
	for _, m := range c.fleet.living() {
		partitions, err := ask[[]admin.PartitionStatus](ctx, c.fleet, m, "/partitions")
		if err != nil {
			return true
		}
		for _, p := range partitions {
			if p.State == "running" && string(tip.Entries[p.Partition].Owner) == m.id {
				running++
			}
		}
	}
	return running < len(tip.Entries)
}

func (c *clusterRun) tip(ctx context.Context) (checkpoint.Manifest, error) {
	return checkpoint.NewChain(c.store, dutyNamespace).Tip(ctx)
}

// assignments counts the runs begun between two manifests, and tells a change of members.
func assignments(a, b checkpoint.Manifest) (n int) {
	if !slices.Equal(a.Members, b.Members) {
		n++
	}
	for p := range a.Entries {
		n += int(b.Entries[p].Epoch - a.Entries[p].Epoch)
	}
	return n
}

// flow is a partition that another must take over: it flows again when more is read of it
// than there was.
type flow map[schemas.Partition]schemas.Offset

// flows are those of a node that is about to be lost.
func (c *clusterRun) flows(ctx context.Context, m *member) (flow, error) {
	for _, other := range c.fleet.living() { // m may be lost already
		if other != m {
			return c.flowsBy(ctx, other, m)
		}
	}
	return c.flowsBy(ctx, m, m)
}

func (c *clusterRun) flowsBy(ctx context.Context, witness, m *member) (flow, error) {
	cluster, err := ask[admin.ClusterStatus](ctx, c.fleet, witness, "/cluster")
	if err != nil {
		return nil, err
	}
	ends, err := c.ends(ctx)
	if err != nil {
		return nil, err
	}
	flows := make(flow)
	for _, p := range cluster.Partitions {
		if p.Owner == m.id {
			end, _ := ends.Lookup(schemas.TopicTelemetry, int32(p.Partition))
			flows[p.Partition] = schemas.Offset(end.Offset)
		}
	}
	return flows, nil
}

// takenOver waits until all flows are read further by other nodes.
func (c *clusterRun) takenOver(ctx context.Context, lost *member, flows flow) error {
	err := until(ctx, time.Minute, func() bool {
		for _, m := range c.fleet.living() {
			partitions, err := ask[[]admin.PartitionStatus](ctx, c.fleet, m, "/partitions")
			if err != nil || m == lost {
				continue
			}
			for _, p := range partitions {
				if end, waits := flows[p.Partition]; waits && p.State == "running" && p.NextOffset[schemas.Telemetry] > end {
					delete(flows, p.Partition)
				}
			}
		}
		return len(flows) == 0
	})
	if err != nil {
		return fmt.Errorf("partitions of a lost node do not flow again: %v: %w", flows, err)
	}
	return nil
}

// without does without a node for some time, in one of several ways. The cluster must go
// on meanwhile.
func (c *clusterRun) without(ctx context.Context, m *member, kind Kind, d time.Duration) error {
	if err := c.warm(ctx); err != nil {
		return err
	}
	flows, err := c.flows(ctx, m)
	if err != nil {
		return err
	}
	lose, heal := c.ways(m, kind)
	began := time.Now()
	if err := lose(); err != nil {
		return err
	}
	times := &c.times.Resign
	if kind != CutKafka && kind != CutStore {
		m.away.Store(true)
		times = &c.times.TakeOver
	}
	const noticed = 4 * time.Second
	if d > noticed {
		err = c.takenOver(ctx, m, flows)
		*times = append(*times, time.Since(began))
	}
	pause(ctx, d-time.Since(began))
	m.away.Store(false)
	return errors.Join(err, heal())
}

// ways to lose a node and to get it back.
func (c *clusterRun) ways(m *member, kind Kind) (lose, heal func() error) {
	freeze := func() error { return m.process.signal(syscall.SIGSTOP) }
	thaw := func() error { return m.process.signal(syscall.SIGCONT) }
	switch {
	case kind == CutKafka:
		return func() error { m.wire.darken(true); return nil }, func() error { m.wire.darken(false); return nil }
	case kind == CutStore:
		return func() error { return m.darken(true) }, func() error { return m.darken(false) }
	case kind == CutOff && !c.fleet.lan.loopback():
		return func() error { return errors.Join(c.fleet.lan.cut(m.index, true), m.darken(true)) },
			func() error { return errors.Join(c.fleet.lan.cut(m.index, false), m.darken(false)) }
	}
	return freeze, thaw
}

// reboot kills all and starts all; the first one, a seed of all others, so much later.
func (c *clusterRun) reboot(ctx context.Context, later time.Duration) error {
	f := c.fleet
	all := f.nodes[:c.cs.Nodes]
	for _, m := range all {
		if err := m.process.signal(syscall.SIGKILL); err != nil {
			return err
		}
	}
	for i, m := range all {
		if err := f.bury(m); err != nil {
			return err
		}
		if i > 0 || later == 0 {
			if err := f.start(m, life{}); err != nil {
				return err
			}
		}
	}
	if later > 0 {
		if err := f.whole(ctx); err != nil {
			return err
		}
		if err := f.start(all[0], life{}); err != nil {
			return err
		}
	}
	return f.whole(ctx)
}
