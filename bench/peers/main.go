// Command peers compares what an event costs in taximeter, in Flink and in Kafka Streams: the
// same job on the same preloaded log of the same Kafka broker, the results checked by the
// same oracle. It ends with a Markdown table.
//
// See bench/README.md. Start reading at comparison.run; systems.go says what is compared.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"taximeter/bench/internal/load"
	"taximeter/bench/internal/oracle"
	"taximeter/bench/internal/rig"
	"taximeter/bench/internal/traffic"
)

func main() { rig.Main(run) }

// comparison is one run of all systems.
type comparison struct {
	dir string // temporary

	cfg         traffic.Config
	shape       string
	partitions  int
	compression string
	checkpoint  time.Duration
	rounds      int
	warm        time.Duration
	chosen      []system
	java, heap  string
	libs        string // of the broker
	taximeter   string

	kafka     *kafka
	registry  *rig.Registry // nil = not up
	where     rig.Where
	log       load.Log
	schemaIDs map[string]int
	want      *oracle.Results
	wantPlain *plainTruth
	measures  map[string][]measure // by system, a round each
}

var shapes = map[string]func() traffic.Config{"mixed": traffic.Mixed, "tracking": traffic.Tracking}

func run(ctx context.Context) error {
	c := &comparison{measures: map[string][]measure{}}
	events := flag.Int64("events", 2_000_000, "about how many records")
	names := flag.String("systems", "", "which, separated by commas; without it, all: "+strings.Join(namesOf(systems), ", "))
	flag.StringVar(&c.shape, "shape", "mixed", "mixed: 60 % telemetry; tracking: 90 %")
	flag.IntVar(&c.partitions, "partitions", 24, "partitions of the input topics")
	flag.StringVar(&c.compression, "compression", "lz4", "of the preloaded log: none, snappy, lz4 or zstd")
	flag.DurationVar(&c.checkpoint, "checkpoint", 30*time.Second, "time between checkpoints, or commits")
	flag.IntVar(&c.rounds, "rounds", 5, "runs of each system; every second round is in the opposite order")
	flag.DurationVar(&c.warm, "warm", 2*time.Minute, "how long a peer's virtual machine processes the log before it is measured, in whole passes; taximeter does once, unless it is 0")
	flag.StringVar(&c.java, "java", "java", "the java program, 17 or newer")
	flag.StringVar(&c.heap, "heap", "3g", "the most that a peer's virtual machine may keep (-Xmx)")
	flag.StringVar(&c.libs, "kafka", os.Getenv("TAXIMETER_KAFKA_LIBS"), "folder of Kafka's jars (.ci/install fetches them)")
	flag.Parse()
	shape, ok := shapes[c.shape]
	if !ok || flag.NArg() > 0 || *events < 1 || c.partitions < 1 || c.rounds < 1 {
		flag.Usage()
		return errors.New("bad flags")
	}
	if c.libs == "" {
		return errors.New("no Kafka: run under .ci/with-servers, or give -kafka")
	}
	c.cfg = shape()
	c.cfg.Events = *events
	var err error
	if c.chosen, err = choose(*names); err != nil {
		return err
	}
	if c.dir, err = os.MkdirTemp("", "taximeter-peers-"); err != nil {
		return err
	}
	return errors.Join(c.run(ctx), os.RemoveAll(c.dir))
}

func namesOf(all []system) (names []string) {
	for _, s := range all {
		names = append(names, s.name)
	}
	return names
}

func choose(names string) (chosen []system, err error) {
	if names == "" {
		return systems, nil
	}
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(systems, func(s system) bool { return s.name == name })
		if i < 0 {
			return nil, fmt.Errorf("no system %q: give some of %s", name, strings.Join(namesOf(systems), ", "))
		}
		chosen = append(chosen, systems[i])
	}
	return chosen, nil
}

func (c *comparison) file(name string) string { return filepath.Join(c.dir, name) }

func (c *comparison) say(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

func (c *comparison) run(ctx context.Context) error {
	c.taximeter = c.file("taximeter")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", c.taximeter, "./cmd/taximeter").CombinedOutput(); err != nil {
		return fmt.Errorf("build taximeter: %w\n%s", err, out)
	}
	c.say("preloading %d records (%s, %s)", c.cfg.Events, c.shape, c.compression)
	if err := c.prepare(ctx); err != nil {
		return err
	}
	for round := range c.rounds {
		order := slices.Clone(c.chosen)
		if round%2 == 1 {
			slices.Reverse(order)
		}
		for _, s := range order {
			if err := c.measure(ctx, round, s); err != nil {
				return fmt.Errorf("round %d, %s: %w", round+1, s.name, err)
			}
		}
	}
	c.write(os.Stdout)
	return nil
}

// measure runs a system once on a broker that has the log and nothing else, and checks what
// it published. A run with differences is void, and so is the comparison.
func (c *comparison) measure(ctx context.Context, round int, s system) error {
	if err := errors.Join(c.kafka.restore(), os.RemoveAll(c.file("run")), os.Mkdir(c.file("run"), 0o755)); err != nil {
		return err
	}
	return c.withKafka(ctx, func() error {
		m, err := s.run(ctx, c)
		if err != nil {
			return err
		}
		c.measures[s.name] = append(c.measures[s.name], m)
		c.say("round %d: %-20s %7.2f us CPU per event, %6.1f s, %5d MB", round+1, s.name,
			float64(m.cpu)/float64(time.Microsecond)/float64(c.log.Counts.Records), m.wall.Seconds(), m.peakRSS>>20)
		return c.check(ctx, s)
	})
}

func (c *comparison) check(ctx context.Context, s system) error {
	if s.computes == nothing {
		return nil
	}
	got, err := oracle.Published(ctx, c.where.Brokers, c.where.Registry, c.log.Ends)
	if err != nil {
		return err
	}
	differences, some := 0, []string(nil)
	if s.computes == billsToo {
		differences, some = oracle.Compare(got, c.want)
	} else {
		differences, some = c.wantPlain.compare(got)
	}
	for _, d := range some {
		c.say("DIFFERENT %s", d)
	}
	if differences > 0 {
		return fmt.Errorf("%d results differ from the oracle's: the run is void", differences)
	}
	return nil
}
