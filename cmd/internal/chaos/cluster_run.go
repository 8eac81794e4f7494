package chaos

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"taximeter/checkpoint/objectstore"
	"taximeter/cmd/internal/published"
)

// ClusterResult is what a run of a cluster found.
type ClusterResult struct {
	Result
	Times Times
}

// clusterRun is a run with many nodes.
type clusterRun struct {
	run
	cs    ClusterScenario
	fleet *fleet
	times Times
}

// RunCluster runs one scenario. A run that could not be finished counts as missing
// everything.
func RunCluster(ctx context.Context, o Options, s ClusterScenario) (res ClusterResult) {
	dir, err := filepath.Abs(filepath.Join(o.Dir, "cluster-"+strconv.FormatUint(s.Seed, 10)))
	c := &clusterRun{cs: s, run: run{o: o, dir: dir,
		s: Scenario{Seed: s.Seed, Partitions: s.Partitions, Checkpoint: s.Checkpoint, Resident: 100, Events: s.events()}}}
	if err := errors.Join(err, c.all(ctx, &res.Result), c.shut()); err != nil {
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

func (c *clusterRun) all(ctx context.Context, res *Result) error {
	if err := c.prepare(ctx); err != nil {
		return err
	}
	if err := c.assemble(ctx); err != nil {
		return err
	}
	if err := c.live(ctx); err != nil {
		return err
	}
	if err := c.finish(ctx); err != nil {
		return fmt.Errorf("finish: %w", err)
	}
	got, err := published.Read(ctx, c.world.Brokers(), c.world.Registry())
	if err != nil {
		return fmt.Errorf("read the results: %w", err)
	}
	ends, err := c.ends(ctx)
	if err != nil {
		return err
	}
	d := &duty{store: objectstore.NewFolder(c.storeDir()), dir: c.dir}
	standing, err := d.standing(ctx)
	if err != nil {
		return fmt.Errorf("read the last checkpoint: %w", err)
	}
	check(c.material, got, standing, ends, res)
	return d.check(ctx, c.direct(), res)
}

func (c *clusterRun) storeDir() string { return filepath.Join(c.dir, "checkpoints") }

// assemble makes places for the nodes and starts them.
func (c *clusterRun) assemble(ctx context.Context) error {
	l, err := newLAN()
	if err != nil {
		return err
	}
	c.fleet = &fleet{o: c.o, dir: c.dir, broker: c.address, lan: l, settings: c.environment("unused"),
		moves: moves{from: make(map[string]time.Time), runs: make(map[string]time.Time)}}
	maps.Copy(c.fleet.settings, map[string]string{
		"STORE_FOLDER":      c.storeDir(),
		"CHECKPOINT_RETAIN": "1000000", // the duty checker reads the whole chain
	})
	if c.fleet.registry, err = newRelay(l.gateway(), strings.TrimPrefix(c.world.RegistryURL(), "http://")); err != nil {
		return err
	}
	for range c.cs.Nodes {
		if _, err := c.fleet.add(c.cs.Seed); err != nil {
			return err
		}
	}
	for i, m := range c.fleet.nodes {
		if err := c.fleet.start(m, life{bootstrap: i == 0}); err != nil {
			return err
		}
	}
	return c.fleet.whole(ctx)
}

// live lets the acts happen while events come in.
func (c *clusterRun) live(ctx context.Context) (err error) {
	feeding, enough := context.WithCancel(ctx)
	fed := make(chan error, 1)
	go func() { fed <- c.feed(feeding) }()
	for _, a := range c.cs.Acts {
		if err = c.act(ctx, a); err != nil {
			err = fmt.Errorf("%s: %w", a, err)
			break
		}
	}
	enough()
	c.fleet.mu.Lock()
	c.times.Move = c.fleet.moves.took
	c.fleet.mu.Unlock()
	return errors.Join(err, <-fed)
}

// feed sends events at the scenario's rate until ctx ends.
func (c *clusterRun) feed(ctx context.Context) error {
	const some = 16
	tick := time.NewTicker(time.Second * some / time.Duration(c.cs.Rate))
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
	for _, m := range c.fleet.living() {
		if err := c.fleet.stop(ctx, m); err != nil {
			return err
		}
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
		if err == nil {
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
