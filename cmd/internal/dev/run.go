package dev

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"time"

	"taximeter/actors/ingest"
	"taximeter/cluster/node"
	"taximeter/cluster/node/embedded"
	"taximeter/cmd/internal/catalogue"
	"taximeter/cmd/internal/city"
	"taximeter/cmd/internal/published"
	"taximeter/cmd/internal/simulation"
	"taximeter/cmd/internal/world"
	"taximeter/schemas"
)

// nodeID is the same in every run, so that a restart goes on with the same namespace.
const nodeID = "dev"

// stopTimeout is how long the end of a run may take to commit and publish what there is.
const stopTimeout = 30 * time.Second

// Run brings the world and the node up and feeds them until ctx ends, or until done. The
// summary is nil if ctx ended it.
func Run(ctx context.Context, o Options) (sum *Summary, err error) {
	keep := embedded.KeepByContract
	if len(o.Events) > 0 {
		keep = embedded.KeepForever
	}
	if o.Out != "" {
		if err := simulation.MakeWay(o.Out, o.Events...); err != nil { // before any work: it may be that it cannot be made
			return nil, err
		}
	}
	began := time.Now()
	w, err := world.Start(ctx, world.Options{Dir: o.Data, KafkaPort: o.KafkaPort, RegistryPort: o.RegistryPort, Partitions: o.Partitions, Keep: keep, Log: o.Log})
	if err != nil {
		return nil, o.portTaken(err)
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	r := &run{o: o, world: w, began: began}
	if r.fresh, err = w.Fresh(ctx); err != nil {
		return nil, err
	}
	if err := r.catalogue(ctx); err != nil {
		return nil, err
	}
	if o.UntilDone {
		return r.untilDone(ctx)
	}
	return nil, r.live(ctx)
}

type run struct {
	o     Options
	world *world.World
	node  *node.Node
	began time.Time
	fresh bool // no event was ever sent to this world

	tariffs []schemas.Tariff // in force
}

func (r *run) say(format string, args ...any) { fmt.Fprintf(r.o.Say, format+"\n", args...) }

// catalogue publishes tariffs and rules, those given or else the city's, unless they are in
// force already. The topics are what a restart goes by.
func (r *run) catalogue(ctx context.Context) error {
	have, err := catalogue.Read(ctx, r.world.Kafka(), r.world.Registry())
	if err != nil {
		return err
	}
	tariffs, rules := r.o.Tariffs, r.o.Rules
	if len(r.o.Events) == 0 {
		cfg := r.city()
		if tariffs == nil && len(have.Tariffs) == 0 {
			tariffs = city.Tariffs(cfg.Start)
		}
		if rules == nil && len(have.Rules) == 0 {
			rules = city.Rules(cfg.Start)
		}
		cfg.Tariffs = have.With(tariffs, nil).Tariffs
		if err := cfg.Validate(); err != nil {
			return fmt.Errorf("the simulated city with the given tariffs: %w", err)
		}
	}
	r.tariffs = have.With(tariffs, nil).Tariffs
	return r.world.Catalogue(ctx, have.TariffChanges(tariffs).Effective(), have.RuleChanges(rules).Effective())
}

func (r *run) config() node.Config {
	c := node.Default()
	c.NodeID = nodeID
	c.Data = filepath.Join(r.o.Data, "state")
	c.Store.Folder = filepath.Join(r.o.Data, "checkpoints")
	c.Kafka.Brokers = r.world.Brokers()
	c.Registry.URL = r.world.RegistryURL()
	c.Admin.Listen = net.JoinHostPort("127.0.0.1", strconv.Itoa(r.o.AdminPort))
	c.Checkpoint.Interval = r.o.Checkpoint
	c.Meter.MaxSpeedKmh = r.o.MaxSpeedKmh
	if r.o.Tables {
		c.Lake.Catalog = "sqlite:" + filepath.Join(r.o.Data, "lake", "catalog.db")
		c.Lake.Warehouse.Folder = filepath.Join(r.o.Data, "lake")
		c.Analytics.URL = "sqlite:" + filepath.Join(r.o.Data, "analytics.db")
	}
	return c
}

func (r *run) start(ctx context.Context, mode node.Mode) (err error) {
	r.node, err = node.Start(ctx, r.config(), node.Options{Mode: mode, AppendTimes: ingest.AppendTimesFromRecords, Log: r.o.Log,
		Tables: r.o.tables})
	return r.o.portTaken(err)
}

// stop ends the node: what there is is committed and published first.
func (r *run) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	return r.node.Stop(ctx)
}

// untilDone consumes a recording by its own times and sums up what was published.
func (r *run) untilDone(ctx context.Context) (*Summary, error) {
	if err := r.sendAll(ctx); err != nil {
		return nil, err
	}
	began, cpu := time.Now(), cpuTime()
	if err := r.start(ctx, node.Replay); err != nil {
		return nil, err
	}
	err := r.node.Done(ctx)
	took, used := time.Since(began), cpuTime()-cpu
	partitions := r.node.Partitions()
	if err := errors.Join(err, r.stop()); err != nil {
		return nil, err
	}
	results, err := published.Read(ctx, r.world.Kafka(), r.world.Registry())
	if err != nil {
		return nil, err
	}
	sum := summarize(partitions, results, took, used)
	if r.o.Out != "" {
		dead, err := deadLetters(ctx, r.world.Registry(), results.Letters)
		if err == nil {
			err = writeOut(r.o.Out, sum, results, dead)
		}
		if err != nil {
			return nil, err
		}
		sum.Out = r.o.Out
	}
	return sum, nil
}

// live feeds the node until ctx ends.
func (r *run) live(ctx context.Context) error {
	feeding, stop := context.WithCancel(ctx)
	defer stop()
	source, err := r.source()
	if err != nil {
		return err
	}
	backlog, err := source.backlog(feeding)
	if err != nil {
		return err
	}
	if err := r.start(ctx, node.Live); err != nil {
		return err
	}
	r.say("%s", r.welcome(source.describe(backlog)))
	ended := make(chan error, 3)
	go func() { ended <- source.feed(feeding) }()
	go func() { ended <- r.watch(feeding) }()
	go func() { ended <- r.replaced(feeding) }()
	var failed error
	for waiting := 3; waiting > 0; waiting-- {
		if err := <-ended; err != nil && ctx.Err() == nil {
			failed = err
			stop()
		}
	}
	r.say("\nStopping: committing and publishing what there is.")
	err = errors.Join(failed, r.stop())
	if err == nil {
		r.say("Everything is in %s; start it in the same way and it goes on from there.", r.o.Data)
	}
	return err
}

// replaced waits for another process to take the node's place.
func (r *run) replaced(ctx context.Context) error {
	select {
	case <-r.node.Replaced():
		return node.ErrReplaced
	case <-ctx.Done():
		return nil
	}
}

func now() schemas.Millis { return schemas.Millis(time.Now().UnixMilli()) }
