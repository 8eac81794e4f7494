// Command sinks measures what the lake and the analytical table cost per event: the same log is
// processed without them, with each, and with both, in turn and several times, each by a
// process and a broker of its own. It ends with one JSON line.
//
// See bench/README.md. Start reading at bench.run.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"taximeter/actors/ingest"
	"taximeter/bench/internal/load"
	"taximeter/bench/internal/oracle"
	"taximeter/bench/internal/rig"
	"taximeter/bench/internal/traffic"
	"taximeter/cluster/node/embedded"
	"taximeter/internal/sqlserver"
)

func main() { rig.Main(run) }

// bench is one run.
type bench struct {
	dir        string // temporary
	events     int64
	rounds     int
	partitions int
	checkpoint time.Duration
	profiles   string
	taximeter  string
	variants   []variant

	wanted *oracle.Results
}

func run(ctx context.Context) error {
	b := &bench{}
	flag.Int64Var(&b.events, "events", 600_000, "about how many records")
	flag.IntVar(&b.rounds, "rounds", 3, "how often all variants are measured, in turn")
	flag.IntVar(&b.partitions, "partitions", 24, "partitions of the input topics")
	flag.DurationVar(&b.checkpoint, "checkpoint", 5*time.Second, "time between checkpoints")
	flag.StringVar(&b.profiles, "profiles", "", "folder for the CPU profiles of the last round, by variant; profiling costs some CPU")
	flag.StringVar(&b.taximeter, "taximeter", "", "the taximeter program for the oracle; without it, it is built")
	names := flag.String("variants", "off,lake,sqlite,postgres,clickhouse,both", "what is measured; both = lake and SQLite; the servers are started")
	flag.Parse()
	var err error
	if b.variants, err = variantsOf(*names); err != nil {
		return err
	}
	if flag.NArg() > 0 || b.events < 1 || b.rounds < 1 || b.partitions < 1 {
		flag.Usage()
		return errors.New("bad flags")
	}
	if b.dir, err = os.MkdirTemp("", "taximeter-bench-"); err != nil {
		return err
	}
	return errors.Join(b.run(ctx), os.RemoveAll(b.dir))
}

// run measures every variant once a round, so that what else the machine does weighs on all.
func (b *bench) run(ctx context.Context) error {
	if b.taximeter == "" {
		b.taximeter = filepath.Join(b.dir, "taximeter")
		if out, err := exec.CommandContext(ctx, "go", "build", "-o", b.taximeter, "./cmd/taximeter").CombinedOutput(); err != nil {
			return fmt.Errorf("build taximeter: %w\n%s", err, out)
		}
	}
	r := results{cost: make(map[string][]float64), memory: make(map[string]float64)}
	for round := range b.rounds {
		for _, v := range b.variants {
			profiles := ""
			if b.profiles != "" && round == b.rounds-1 {
				profiles = filepath.Join(b.profiles, v.name)
			}
			p, err := b.measure(ctx, v, profiles)
			if err != nil {
				return fmt.Errorf("%s: %w", v.name, err)
			}
			us := float64(p.CPU()) / float64(time.Microsecond) / float64(p.Records)
			b.say("round %d, %-10s %6.2f us of CPU an event (user %.1f s, system %.1f s, wall %.1f s), %d manifests, %d MB, load %s", round+1, v.name, us,
				p.User.Seconds(), p.System.Seconds(), p.Wall.Seconds(), p.Checkpoints, p.PeakRSS>>20, load1())
			r.take(v.name, us, p)
		}
	}
	return r.tell(b.variants)
}

// measure has one log processed. The bills of a run go to a topic that the next would read, so
// each has a broker of its own.
func (b *bench) measure(ctx context.Context, v variant, profiles string) (p rig.Processed, err error) {
	dir, err := os.MkdirTemp(b.dir, v.name+"-")
	if err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	broker, where, err := rig.StartBroker(ctx, rig.BrokerSpec{Partitions: int32(b.partitions), AppendTimes: embedded.AppendTimesFromRecords})
	if err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, broker.Stop()) }()
	spec := rig.ProcessorSpec{Where: where, Dir: filepath.Join(dir, "node"), AppendTimes: ingest.AppendTimesFromRecords, Checkpoint: b.checkpoint, Profiles: profiles}
	if v.lake {
		spec.Lake = filepath.Join(dir, "lake")
	}
	if v.table == embeddedTable {
		spec.Analytics = "sqlite:" + filepath.Join(dir, "analytics.db")
	} else if v.table != "" {
		server, err := sqlserver.New(ctx, v.table)
		if err != nil {
			return p, err
		}
		defer func() { err = errors.Join(err, server.Close()) }()
		if err := server.Start(ctx); err != nil {
			return p, err
		}
		spec.Analytics = server.URL(server.Address)
	}
	cfg := traffic.Mixed()
	cfg.Events = b.events
	log, err := load.Preload(ctx, load.Options{Brokers: where.Brokers, Registry: where.Registry, Compression: "lz4", BatchBytes: 64 << 10, Linger: 200 * time.Millisecond},
		cfg, filepath.Join(b.dir, "events.jsonl"), filepath.Join(b.dir, "tariffs.json"))
	if err != nil {
		return p, err
	}
	if p, err = rig.RunProcessor(ctx, spec); err != nil {
		return p, err
	}
	if p.Records != log.Counts.Records {
		return p, fmt.Errorf("%d records were sent, %d got a verdict: the run is void", log.Counts.Records, p.Records)
	}
	return p, b.judge(ctx, where, log.Ends)
}

// judge compares what was published with the oracle's results, which are the same for all.
func (b *bench) judge(ctx context.Context, where rig.Where, ends rig.Ends) error {
	if b.wanted == nil {
		wanted, err := oracle.Simulate(ctx, oracle.Files{Taximeter: b.taximeter, Events: filepath.Join(b.dir, "events.jsonl"), Tariffs: filepath.Join(b.dir, "tariffs.json"),
			Partitions: int32(b.partitions), Out: filepath.Join(b.dir, "simulated")})
		if err != nil {
			return err
		}
		b.wanted = wanted
	}
	got, err := oracle.Published(ctx, where.Brokers, where.Registry, ends)
	if err != nil {
		return err
	}
	if n, some := oracle.Compare(got, b.wanted); n > 0 {
		return fmt.Errorf("%d results differ from the oracle's, such as %v: the run is void", n, some)
	}
	return nil
}

func (b *bench) say(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
