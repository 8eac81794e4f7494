// Command quick measures what the processor costs per event, on a fixed preloaded log, with
// everything on, and checks its results against the oracle. It ends with one JSON line.
//
// See bench/README.md. Start reading at bench.run.
package main

import (
	"context"
	"encoding/json"
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
)

func main() { rig.Main(run) }

// bench is one run.
type bench struct {
	dir string // temporary

	events      int64
	shape       string
	partitions  int
	processes   int
	compression string
	batchBytes  int
	checkpoint  time.Duration
	memory      int64 // MB
	profiles    string
	limits      string
	taximeter   string
	brokers     string
	registry    string

	cfg   traffic.Config
	where rig.Where
	log   load.Log
}

var shapes = map[string]func() traffic.Config{"mixed": traffic.Mixed, "tracking": traffic.Tracking}

func run(ctx context.Context) error {
	b := &bench{}
	flag.Int64Var(&b.events, "events", 1_000_000, "about how many records")
	flag.StringVar(&b.shape, "shape", "mixed", "mixed: 60 % telemetry; tracking: 90 %")
	flag.IntVar(&b.partitions, "partitions", 24, "partitions of the input topics")
	flag.IntVar(&b.processes, "processes", 1, "nodes that share the work, each in a process of its own")
	flag.StringVar(&b.compression, "compression", "lz4", "of the preloaded log: none, snappy, lz4 or zstd")
	flag.IntVar(&b.batchBytes, "batch-bytes", 64<<10, "size of the preloaded log's batches, uncompressed")
	flag.DurationVar(&b.checkpoint, "checkpoint", 30*time.Second, "time between checkpoints")
	flag.Int64Var(&b.memory, "memory", 0, "MB that the processor's heap should keep to, as in a small container; 0 = what it takes by itself")
	flag.StringVar(&b.profiles, "profiles", "", "folder for the processor's cpu.pprof and allocs.pprof; profiling costs some CPU")
	flag.StringVar(&b.limits, "limits", "", "JSON file of what a run may cost; a run that costs more fails, as in CI")
	flag.StringVar(&b.taximeter, "taximeter", "", "the taximeter program for the oracle; without it, it is built")
	flag.StringVar(&b.brokers, "broker", "", "a Kafka broker with empty contract topics (CreateTime), instead of the embedded one")
	flag.StringVar(&b.registry, "registry", "", "with --broker: its schema registry")
	flag.Parse()
	shape, ok := shapes[b.shape]
	if !ok || flag.NArg() > 0 || b.events < 1 || b.partitions < 1 || b.processes < 1 || (b.brokers == "") != (b.registry == "") {
		flag.Usage()
		return errors.New("bad flags")
	}
	b.cfg = shape()
	b.cfg.Events = b.events
	var err error
	if b.dir, err = os.MkdirTemp("", "taximeter-bench-"); err != nil {
		return err
	}
	return errors.Join(b.run(ctx), os.RemoveAll(b.dir))
}

// run prepares, measures (a bare consumer before and after the processor, so that what
// else the machine does weighs on both), checks, and tells.
func (b *bench) run(ctx context.Context) (err error) {
	if b.taximeter == "" {
		b.taximeter = filepath.Join(b.dir, "taximeter")
		if out, err := exec.CommandContext(ctx, "go", "build", "-o", b.taximeter, "./cmd/taximeter").CombinedOutput(); err != nil {
			return fmt.Errorf("build taximeter: %w\n%s", err, out)
		}
	}
	b.where = rig.Where{Brokers: []string{b.brokers}, Registry: b.registry}
	if b.brokers == "" {
		var broker *rig.Process
		broker, b.where, err = rig.StartBroker(ctx, rig.BrokerSpec{Partitions: int32(b.partitions), AppendTimes: embedded.AppendTimesFromRecords})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, broker.Stop()) }()
	}
	b.say("preloading %d records (%s, %s)", b.events, b.shape, b.compression)
	b.log, err = load.Preload(ctx, load.Options{Brokers: b.where.Brokers, Registry: b.where.Registry, Compression: b.compression,
		BatchBytes: int32(b.batchBytes), Linger: 200 * time.Millisecond}, b.cfg, b.file("events.jsonl"), b.file("tariffs.json"))
	if err != nil {
		return err
	}
	b.say("simulating: what must come out")
	want, err := oracle.Simulate(ctx, oracle.Files{Taximeter: b.taximeter, Events: b.file("events.jsonl"), Tariffs: b.file("tariffs.json"),
		Partitions: int32(b.partitions), Out: b.file("simulated")})
	if err != nil {
		return err
	}
	b.say("measuring: bare consumer, processor, bare consumer")
	bare := rig.BareSpec{Where: b.where, Ends: b.log.Ends}
	before, err := rig.RunBare(ctx, bare)
	if err != nil {
		return err
	}
	processed, err := rig.RunProcessors(ctx, rig.ProcessorSpec{Where: b.where, Dir: b.file("node"), AppendTimes: ingest.AppendTimesFromRecords,
		Checkpoint: b.checkpoint, MemoryMB: b.memory, Profiles: b.profiles}, b.processes)
	if err != nil {
		return err
	}
	after, err := rig.RunBare(ctx, bare)
	if err != nil {
		return err
	}
	b.say("checking what was published")
	got, err := oracle.Published(ctx, b.where.Brokers, b.where.Registry, b.log.Ends)
	if err != nil {
		return err
	}
	differences, some := oracle.Compare(got, want)
	for _, d := range some {
		b.say("DIFFERENT %s", d)
	}
	if processed.Records != b.log.Counts.Records || before.Records != b.log.Counts.Records || after.Records != b.log.Counts.Records {
		return fmt.Errorf("%d records were sent, %d got a verdict, the bare consumers saw %d and %d: the run is void",
			b.log.Counts.Records, processed.Records, before.Records, after.Records)
	}
	r := b.result(processed, before, after, got, differences)
	r.print(os.Stderr)
	if err := json.NewEncoder(os.Stdout).Encode(r); err != nil {
		return err
	}
	if differences > 0 {
		return fmt.Errorf("%d results differ from the oracle's: the run is void", differences)
	}
	if b.limits == "" {
		return nil
	}
	most, err := readLimits(b.limits)
	if err != nil {
		return err
	}
	return most.check(r)
}

func (b *bench) file(name string) string { return filepath.Join(b.dir, name) }

func (b *bench) say(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
