package chaos

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/checkpoint"
	"taximeter/cluster/node/embedded"
	"taximeter/cmd/internal/events"
	"taximeter/cmd/internal/published"
	"taximeter/cmd/internal/world"
	"taximeter/schemas/edge"
)

// Options of the harness.
type Options struct {
	Binary string              // a taximeter built with the tag chaos
	Dir    string              // for the files of runs; those of a run that went well are removed
	From   string              // a taximeter of the version before, which a cluster is upgraded from; "" = Binary, held at Held
	Held   checkpoint.Protocol // 0 = the one before the newest
	Real   *Real               // nil = a broker in this process and a folder as store
	Log    *slog.Logger
	// Tables lets every so manieth seed of a campaign keep a lake and analytical tables; 0 = none.
	Tables  uint64
	Readers string // a Python that has the readers of package lakecheck, which check them
}

// held is the protocol of nodes of the version before that are of this one.
func (o *Options) held() checkpoint.Protocol { return cmp.Or(o.Held, checkpoint.NewestProtocol-1) }

// Result is what a run found. All three are zero if nothing is wrong.
type Result struct {
	Duplicated, Missing, Differing int
	Findings                       []string // in words, at most some
	Starts                         int      // processes started
	AtPoints                       int      // of them, those that their plan's point ended
}

// OK reports whether nothing was found.
func (r *Result) OK() bool { return r.Duplicated+r.Missing+r.Differing == 0 }

// Run runs one scenario. A run that could not be finished counts as missing everything.
func Run(ctx context.Context, o Options, s Scenario) (res Result) {
	dir := filepath.Join(o.Dir, "seed-"+strconv.FormatUint(s.Seed, 10))
	r := &run{o: o, s: s, dir: dir}
	if err := errors.Join(r.run(ctx, &res), r.close()); err != nil {
		res.Missing++
		res.Findings = append(res.Findings, err.Error())
	}
	res.Starts, res.AtPoints = r.starts, r.ended
	if res.OK() {
		if err := os.RemoveAll(dir); err != nil {
			o.Log.Warn("files of a run stay behind", "err", err)
		}
	}
	return res
}

type run struct {
	o   Options
	s   Scenario
	dir string

	wire     *wire
	objects  *objects  // the proxy before S3; nil with a folder
	database *database // of the analytical tables; nil = a file, or none
	catalog  *database // of the lake; nil = a file, or none
	broker   broker
	address  string // of the broker
	world    *world.World
	material *material
	feeding  *feeding
	change   func(*edge.Line, *kgo.Record) // of what is sent; nil = as it is
	starts   int
	ended    int // of the processes, those that their plan's point ended
}

func (r *run) run(ctx context.Context, res *Result) error {
	if err := r.prepare(ctx); err != nil {
		return err
	}
	share := r.s.Events/int64(len(r.s.Lives)) + 1
	for i := range r.s.Lives {
		if err := r.live(ctx, &r.s.Lives[i], share); err != nil {
			return fmt.Errorf("life %d (%s): %w", i+1, &r.s.Lives[i], err)
		}
	}
	return r.conclude(ctx, res)
}

// prepare makes the events and what must come of them, and brings up all but nodes.
func (r *run) prepare(ctx context.Context) (err error) {
	// The folder may hold an earlier run of the seed.
	if err := errors.Join(os.RemoveAll(r.dir), os.MkdirAll(r.dir, 0o755)); err != nil {
		return err
	}
	if r.material, err = generate(ctx, r.s, r.dir); err != nil {
		return err
	}
	if err := r.open(ctx); err != nil {
		return err
	}
	if err := r.world.Catalogue(ctx, r.material.tariffs, r.material.rules); err != nil {
		return fmt.Errorf("publish tariffs and rules: %w", err)
	}
	files, err := events.Open([]string{r.material.file})
	if err != nil {
		return err
	}
	r.feeding = &feeding{world: r.world, files: files}
	return nil
}

// conclude lets a last life finish the work and checks all that came out.
func (r *run) conclude(ctx context.Context, res *Result) error {
	last, err := r.finish(ctx)
	if err != nil {
		return fmt.Errorf("last life: %w", err)
	}
	got, err := published.Read(ctx, r.world.Kafka(), r.world.Registry())
	if err != nil {
		return fmt.Errorf("read the results: %w", err)
	}
	ends, err := r.ends(ctx)
	if err != nil {
		return err
	}
	check(r.material, got, last.partitions, ends, res)
	if r.s.Tables {
		return r.checkTables(ctx, got, ends, res)
	}
	return nil
}

// open brings up broker, registry and proxies.
func (r *run) open(ctx context.Context) (err error) {
	if r.wire, err = newWire(r.s.Seed); err != nil {
		return err
	}
	r.broker = r.o.broker(r.dir)
	if r.address, err = r.broker.start(ctx, r.wire.address()); err != nil {
		return err
	}
	r.wire.aim(r.address)
	if r.o.Real != nil {
		if r.objects, err = newObjects(r.o.Real.S3Endpoint, r.s.Seed); err != nil {
			return err
		}
	}
	if r.s.Database != "" {
		if r.database, err = newDatabase(ctx, r.s.Database, "127.0.0.1"); err != nil {
			return err
		}
	}
	client, err := kgo.NewClient(r.direct()...)
	if err != nil {
		return err
	}
	defer client.Close()
	topics := embedded.Options{Tasks: int32(r.s.Partitions), Keep: embedded.KeepForever}
	if err := embedded.CreateTopics(ctx, kadm.NewClient(client), topics); err != nil {
		return err
	}
	r.world, err = world.Start(ctx, world.Options{Partitions: r.s.Partitions, Log: slog.New(slog.DiscardHandler), Broker: standing{r.wire.address()},
		Client: r.direct(), Feed: []kgo.Opt{kgo.ManualFlushing(), kgo.MaxProduceRequestsInflightPerBroker(1)}, Send: r.change})
	return err
}

// direct is how the harness's own clients go past the proxy, also where the broker sends
// them to it.
func (r *run) direct() []kgo.Opt {
	return []kgo.Opt{kgo.SeedBrokers(r.wire.address()), kgo.Dialer(func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, r.address)
	})}
}

// standing is a broker that somebody else starts and stops.
type standing struct{ address string }

func (s standing) Seeds() []string { return []string{s.address} }
func (s standing) Close() error    { return nil }

// ends are the input topics' end offsets.
func (r *run) ends(ctx context.Context) (kadm.ListedOffsets, error) {
	client, err := kgo.NewClient(r.direct()...)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	ends, err := kadm.NewClient(client).ListEndOffsets(ctx, inputs...)
	if err == nil {
		err = ends.Error()
	}
	return ends, err
}

func (r *run) close() error {
	var errs []error
	if r.feeding != nil {
		r.feeding.files.Close()
	}
	if r.world != nil {
		errs = append(errs, r.world.Close())
	}
	if r.broker != nil {
		errs = append(errs, r.broker.stop())
	}
	if r.wire != nil {
		errs = append(errs, r.wire.close())
	}
	if r.objects != nil {
		errs = append(errs, r.objects.close())
	}
	errs = append(errs, r.database.close())
	return errors.Join(errs...)
}

// prefix is where the run's objects lie in the bucket.
func (r *run) prefix() string { return filepath.Base(r.dir) + "/" }

// environment configures a node; other gives it a folder of its own for local state.
func (r *run) environment(data string) map[string]string {
	env := map[string]string{
		"NAMESPACE":             "chaos",
		"NODE_ID":               "node-1",
		"DATA":                  filepath.Join(r.dir, data),
		"KAFKA_BROKERS":         r.wire.address(),
		"REGISTRY_URL":          r.world.RegistryURL(),
		"CHECKPOINT_INTERVAL":   r.s.Checkpoint.String(),
		"CHECKPOINT_DEADLINE":   "5s",
		"CHECKPOINT_RETAIN":     "3",
		"MEMORY_RESIDENT_TRIPS": strconv.Itoa(r.s.Resident),
		"MEMORY_IDLE_SEALS":     "2",
		"MEMORY_CACHE_MB":       "8",
		"ADMIN_LISTEN":          "127.0.0.1:0",
		"STORE_FOLDER":          filepath.Join(r.dir, "checkpoints"),
	}
	if r.o.Real != nil {
		maps.Copy(env, r.o.Real.store(r.objects.address(), r.prefix()))
	}
	if r.s.Tables {
		maps.Copy(env, r.tables())
	}
	return env
}

const (
	startPatience = 30 * time.Second
	endPatience   = 60 * time.Second
)

// spoil sets how much goes wrong on the way to broker and store.
func (r *run) spoil(network, deaf, late float64) {
	r.wire.spoil(network, deaf, late)
	if r.objects != nil {
		r.objects.spoil(network)
	}
}
