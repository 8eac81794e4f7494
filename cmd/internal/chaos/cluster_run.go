package chaos

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"taximeter/checkpoint"
	"taximeter/checkpoint/objectstore"
	"taximeter/cmd/internal/published"
	"taximeter/internal/sqlserver"
	"taximeter/schemas"
)

// ClusterResult is what a run of a cluster found.
type ClusterResult struct {
	Result
	// Reordered are the alerts that are those of another order of the topics (see asSeen), in
	// words: no fault, but seldom, and never many.
	Reordered []string
	Times     Times
}

// clusterRun is a run with many nodes.
type clusterRun struct {
	run
	cs    ClusterScenario
	fleet *fleet
	store checkpoint.Store // past every proxy
	watch *watch           // of alerts; nil = none is kept
	waits *waits
	times Times

	settled chan struct{} // closed when the cluster is whole for the first time, and acts begin
	acted   chan struct{} // closed when they have ended, if anything is to be seen after them
}

// usualLapse is how much faster than its own the city's time goes at most. Topics may be seen a
// tenth of a second apart: at many times that, minutes of one topic would be seen before the
// other's, and alerts depend on what is seen first (see asSeen).
const usualLapse = 60

// lapse is how much faster than its own the city's time goes.
func (c *clusterRun) lapse() float64 { return float64(c.cs.Rate) / c.s.cityRate() }

// RunCluster runs one scenario. A run that could not be finished counts as missing
// everything.
func RunCluster(ctx context.Context, o Options, s ClusterScenario) (res ClusterResult) {
	dir, err := filepath.Abs(filepath.Join(o.Dir, "cluster-"+strconv.FormatUint(s.Seed, 10)))
	c := &clusterRun{cs: s, run: run{o: o, dir: dir,
		s: Scenario{Seed: s.Seed, Partitions: s.Partitions, Checkpoint: s.Checkpoint, Resident: 100, Events: s.events(), City: float64(s.Rate) / cmp.Or(s.Lapse, usualLapse)}}}
	if s.Tables { // both in PostgreSQL: files serve one node alone
		c.s.Tables, c.s.Database = true, sqlserver.Postgres
	}
	if s.has(Grow) {
		c.watch, c.s.Rules = newWatch(), []schemas.Rule{moving}
	}
	if err := errors.Join(err, c.all(ctx, &res), c.shut()); err != nil {
		res.Missing++
		res.Findings = append(res.Findings, err.Error())
	}
	if c.fleet != nil {
		res.Starts = c.fleet.starts
	}
	res.Times = c.times
	if res.OK() {
		if err := os.RemoveAll(dir); err != nil {
			o.Log.Warn("files of a run stay behind", "err", err)
		}
	}
	return res
}

func (c *clusterRun) shut() error {
	var err error
	if c.fleet != nil {
		err = c.fleet.close()
	}
	return errors.Join(err, c.close())
}

func (c *clusterRun) all(ctx context.Context, res *ClusterResult) error {
	if err := c.prepare(ctx); err != nil {
		return err
	}
	const quick = 5000 // events per second, from which on small requests are too many
	if c.cs.Rate >= quick {
		c.feeding.lot = 8 * usualLot
	}
	if err := c.openStore(); err != nil {
		return err
	}
	if err := c.assemble(ctx); err != nil {
		return err
	}
	if err := c.fatten(ctx); err != nil {
		return fmt.Errorf("give the partitions state: %w", err)
	}
	if err := c.live(ctx); err != nil {
		return err
	}
	if err := c.finish(ctx); err != nil {
		return fmt.Errorf("finish: %w", err)
	}
	got, err := published.Read(ctx, c.world.Kafka(), c.world.Registry())
	if err != nil {
		return fmt.Errorf("read the results: %w", err)
	}
	ends, err := c.ends(ctx)
	if err != nil {
		return err
	}
	d := &duty{store: c.store, dir: c.dir}
	standing, err := d.standing(ctx)
	if err != nil {
		return fmt.Errorf("read the last checkpoint: %w", err)
	}
	taken, err := c.material.asSeen(ctx, c.cs.Partitions, c.lapse(), got, c.dir)
	if err != nil {
		return fmt.Errorf("look for another order of the topics: %w", err)
	}
	for _, t := range taken {
		res.Reordered = append(res.Reordered, "alerts are those of another order of the topics: "+t.String())
	}
	check(c.material, got, standing, ends, &res.Result)
	if c.s.Tables {
		if err := c.checkTables(ctx, got, ends, &res.Result); err != nil {
			return fmt.Errorf("check the tables: %w", err)
		}
	}
	return d.check(ctx, c.direct(), &res.Result)
}

func (c *clusterRun) storeDir() string { return filepath.Join(c.dir, "checkpoints") }

func (c *clusterRun) openStore() (err error) {
	if c.o.Real != nil {
		c.store, err = c.o.Real.objects(c.prefix())
		return err
	}
	c.store = objectstore.NewFolder(c.storeDir())
	return nil
}

// assemble makes places for the nodes and starts them.
func (c *clusterRun) assemble(ctx context.Context) error {
	l, err := newLAN()
	if err != nil {
		return err
	}
	if c.s.Tables {
		if err := c.database.listenAt(l.gateway()); err != nil {
			return err
		}
		c.catalog = c.database
	}
	// All that a node has may have to be fetched, by all nodes at once.
	const usual = 2 * time.Minute
	patience := usual + time.Duration(c.cs.State/slowestCopy)*time.Second
	c.fleet = &fleet{o: c.o, dir: c.dir, patience: patience, broker: c.address, lan: l, settings: c.environment("unused"),
		moves: newMoves()}
	maps.Copy(c.fleet.settings, map[string]string{
		"STORE_FOLDER":      c.storeDir(),
		"CHECKPOINT_RETAIN": "1000000", // the duty checker reads the whole chain
		"CLUSTER_STANDBYS":  strconv.Itoa(c.cs.Standbys),
	})
	if c.fleet.registry, err = newRelay(l.gateway(), strings.TrimPrefix(c.world.RegistryURL(), "http://")); err != nil {
		return err
	}
	for i := range c.cs.Nodes {
		m, err := c.fleet.add(c.cs.Seed)
		if err != nil {
			return err
		}
		m.old = c.cs.has(Upgrade)
		if i < len(c.cs.Weights) {
			m.weight = c.cs.Weights[i]
		}
		if i < len(c.cs.Zones) {
			m.zone = c.cs.Zones[i]
		}
	}
	return c.startAll()
}

func (c *clusterRun) startAll() error {
	for i, m := range c.fleet.nodes[:c.cs.Nodes] {
		if err := c.fleet.start(m, life{bootstrap: i == 0}); err != nil {
			return err
		}
	}
	return nil
}

func (c *clusterRun) stopAll(ctx context.Context) error {
	for _, m := range c.fleet.living() {
		if err := c.fleet.stop(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

// Alerts are also looked at for a moment after the acts, when what has moved catches up, and
// waited for until they would be late.
const (
	alertsAfter   = 5 * time.Second
	alertDeadline = 10 * time.Second
)

// longestStill is how long nothing happens after the acts at most, though these took longer.
const longestStill = 30 * time.Second

// live lets the acts happen while events come in: from before the cluster is whole, for nodes that
// meet no event for half a minute let time follow the wall clock, and what comes then is too late.
func (c *clusterRun) live(ctx context.Context) (err error) {
	feeding, enough := context.WithCancel(ctx)
	watching, seen := context.WithCancel(ctx)
	fed := make(chan error, 1)
	c.settled, c.acted = make(chan struct{}), make(chan struct{})
	watched := c.observe(watching)
	go func() { fed <- c.feed(feeding) }()
	began, err := c.acts(ctx)
	if c.cs.Still && err == nil {
		close(c.acted)
		pause(ctx, min(time.Since(began), longestStill))
	}
	if c.watch != nil {
		pause(ctx, alertsAfter)
	}
	ended := time.Now()
	enough()
	err = errors.Join(err, <-fed)
	if c.watch != nil {
		pause(ctx, alertDeadline)
	}
	seen()
	err = errors.Join(err, <-watched)
	c.fleet.mu.Lock()
	c.times.Move, c.times.Applied, c.times.Parts, c.times.Unmoved = c.fleet.moves.runs.took, c.fleet.moves.applied.took, maps.Clone(c.fleet.moves.parts), c.fleet.moves.failed
	c.fleet.mu.Unlock()
	c.times.Wait, c.times.Still = c.waits.samples, c.waits.still
	if c.watch != nil {
		c.times.Alert = c.watch.between(began, ended, func(schemas.Partition) bool { return false })
	}
	return err
}

// acts begin when the cluster is whole.
func (c *clusterRun) acts(ctx context.Context) (began time.Time, err error) {
	if err := errors.Join(c.fleet.whole(ctx), c.apart(ctx)); err != nil {
		return began, err
	}
	close(c.settled)
	began = time.Now()
	for _, a := range c.cs.Acts {
		if err := c.act(ctx, a); err != nil {
			return began, fmt.Errorf("%s: %w", a, err)
		}
	}
	return began, nil
}

// feed sends events at the scenario's rate until ctx ends.
func (c *clusterRun) feed(ctx context.Context) error {
	const ticks = 60
	some := max(16, int64(c.cs.Rate/ticks))
	tick := time.NewTicker(time.Second * time.Duration(some) / time.Duration(c.cs.Rate))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
		if err := c.feeding.send(context.WithoutCancel(ctx), some); err != nil {
			return fmt.Errorf("send events: %w", err)
		}
	}
}

// finish stops all nodes, sends what is left, and lets all of them do the rest.
func (c *clusterRun) finish(ctx context.Context) error {
	if err := c.stopAll(ctx); err != nil {
		return err
	}
	if err := c.feeding.send(ctx, c.s.Events); err != nil {
		return fmt.Errorf("send events: %w", err)
	}
	last := c.fleet.nodes[:c.cs.Nodes]
	for i, m := range last {
		if err := c.fleet.start(m, life{replay: true, bootstrap: i == 0}); err != nil {
			return err
		}
	}
	for _, m := range last {
		p := m.process
		err := p.end(ctx, endPatience)
		if errors.Is(err, errStuck) && strings.Contains(p.words(), "it has met none of the cluster's members") {
			err = nil // the others had done everything and gone before it met one, for whom it rightly waits
		} else if err == nil {
			err = p.err
		}
		if buried := c.fleet.bury(m); err != nil || buried != nil {
			return fmt.Errorf("%s: %w\n%s", m.id, errors.Join(err, buried), tail(p.words()))
		}
	}
	return nil
}

// tail is the end of what a process said.
func tail(words string) string {
	const most = 2000
	return words[max(0, len(words)-most):]
}
