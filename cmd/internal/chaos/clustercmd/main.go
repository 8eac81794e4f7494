// Command clustercmd runs the fault harness on clusters; see package chaos.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"taximeter/checkpoint"
	"taximeter/cmd/internal/chaos"
	"taximeter/internal/program"
)

func main() { program.Main("chaos-cluster", run) }

func run(ctx context.Context) error {
	nodes := flag.Int("nodes", 3, "nodes of a cluster")
	runs := flag.Int("runs", 4, "runs")
	seed := flag.Uint64("seed", 1, "seed of the first run; each next one has the next")
	acts := flag.String("acts", "", "what happens, such as kill:20,join; empty = drawn from the seed")
	real := flag.Bool("real", false, "on real Kafka and S3, under .ci/with-servers")
	rate := flag.Int("rate", 1000, "events per second while things happen")
	lapse := flag.Float64("lapse", 0, "how much faster than its own the city's time goes at most; 0 = 60")
	standbys := flag.Int("standbys", 1, "copies of each partition on other nodes")
	state := flag.String("state", "0", "state of the partitions of one node, such as 100MB or 1GB, beside what the events make")
	every := flag.Duration("checkpoint", 0, "interval between checkpoints; 0 = drawn from the seed")
	from := flag.String("from", "", "a taximeter of the version before, for the act upgrade; empty = the present one held at -held")
	held := flag.Uint("held", 0, "protocol that nodes of the version before speak, without -from; 0 = the one before the newest")
	binary := flag.String("taximeter", "", "a taximeter built with the tag chaos")
	tables := flag.Bool("tables", false, "keep a lake and analytical tables, in a PostgreSQL that is started")
	readers := flag.String("readers", "", "a Python that can check them; .ci/readers/install prints where it is")
	figures := flag.Bool("figures", false, "close with the rows of the table in docs/cluster.md")
	dir := flag.String("dir", "", "folder for the files of runs; those that failed stay there")
	flag.Parse()
	if *binary == "" {
		return fmt.Errorf("--taximeter is missing: build one with `go build -tags chaos ./cmd/taximeter`")
	}
	if *nodes < 1 || *rate < 1 || *standbys < 0 {
		return fmt.Errorf("--nodes %d, --rate %d, --standbys %d: at least 1, 1 and 0 are due", *nodes, *rate, *standbys)
	}
	if *tables && *readers == "" {
		return fmt.Errorf("--tables needs --readers, which check them")
	}
	if *held > uint(checkpoint.NewestProtocol) {
		return fmt.Errorf("--held %d: this version speaks up to %d", *held, checkpoint.NewestProtocol)
	}
	bytes, err := size(*state)
	if err != nil {
		return err
	}
	o := chaos.Options{Binary: *binary, From: *from, Held: checkpoint.Protocol(*held), Dir: *dir, Readers: *readers, Log: slog.Default()}
	if *real {
		if o.Real, err = chaos.RealFromEnvironment(); err != nil {
			return err
		}
	}
	if o.Dir == "" {
		if o.Dir, err = os.MkdirTemp("", "taximeter-chaos-cluster-"); err != nil {
			return err
		}
	}
	var total chaos.ClusterResult
	var times chaos.Times
	failed, done := 0, 0
	for i := range *runs {
		if ctx.Err() != nil {
			break
		}
		s := chaos.DrawCluster(*seed+uint64(i), *nodes, chaos.Kinds())
		if *acts != "" {
			if s, err = chaos.ClusterOf(*seed+uint64(i), *nodes, *acts); err != nil {
				return err
			}
		}
		s.Rate, s.Lapse, s.Standbys, s.State, s.Tables, s.Still = *rate, *lapse, *standbys, bytes, *tables, *figures
		if *every > 0 {
			s.Checkpoint = *every
		}
		fmt.Fprintln(os.Stderr, s)
		began := time.Now()
		r := chaos.RunCluster(ctx, o, s)
		done++
		total.Duplicated += r.Duplicated
		total.Missing += r.Missing
		total.Differing += r.Differing
		total.Reordered = append(total.Reordered, r.Reordered...)
		total.Starts += r.Starts
		times.Add(r.Times)
		fmt.Fprintf(os.Stderr, "  %.0f s, duplicated=%d missing=%d differing=%d reordered=%d\n", time.Since(began).Seconds(), r.Duplicated, r.Missing, r.Differing, len(r.Reordered))
		for _, told := range r.Reordered {
			fmt.Fprintln(os.Stderr, " ", told)
		}
		if !r.OK() {
			failed++
			fmt.Fprintf(os.Stderr, "  FAILED; again with: make chaos-cluster RUNS=1 N=%d SEED=%d; files in %s\n  %s\n", *nodes, s.Seed, o.Dir, strings.Join(r.Findings, "\n  "))
		}
	}
	fmt.Fprintf(os.Stderr, "%d processes started\n", total.Starts)
	tell(times)
	if *figures {
		rows(times, *nodes, *rate, *state, *standbys)
	}
	fmt.Fprintf(os.Stdout, "runs=%d duplicated=%d missing=%d differing=%d reordered=%d takeover_ms_p50=%d takeover_ms_p99=%d\n", done, total.Duplicated, total.Missing, total.Differing, len(total.Reordered),
		chaos.Percentile(times.TakeOver, 50).Milliseconds(), chaos.Percentile(times.TakeOver, 99).Milliseconds())
	if failed > 0 || done < *runs {
		return fmt.Errorf("%d of %d runs failed", failed+*runs-done, *runs)
	}
	return nil
}

// kinds are the pauses by their names.
func kinds(t chaos.Times) []pauses {
	return []pauses{{"silent node to taken over", t.TakeOver, 0}, {"node without Kafka or store to taken over", t.Resign, 0},
		{"pause of a planned move", t.Move, t.Unmoved}, {"the same until the first records are applied", t.Applied, 0}, {"start to balanced", t.Join, 0}, {"healed to balanced", t.Rejoin, 0},
		{"wait to be read in a partition that stays, at most", t.Wait, 0}, {"the same while nothing happens", t.Still, 0}, {"event to alert", t.Alert, 0}}
}

type pauses struct {
	name    string
	samples []time.Duration
	failed  int // those that failed have no sample
}

// count of samples, and of what has none.
func (p pauses) count() string {
	if p.failed == 0 {
		return strconv.Itoa(len(p.samples))
	}
	return fmt.Sprintf("%d and %d failed", len(p.samples), p.failed)
}

func (p pauses) ms(percent int) int64 { return chaos.Percentile(p.samples, percent).Milliseconds() }

func tell(t chaos.Times) {
	all := kinds(t)
	for _, part := range slices.Sorted(maps.Keys(t.Parts)) {
		all = append(all, pauses{"  of moves and starts: " + part, t.Parts[part], 0})
	}
	for _, p := range all {
		fmt.Fprintf(os.Stderr, "%s: n=%s p50=%d ms p99=%d ms max=%d ms\n", p.name, p.count(), p.ms(50), p.ms(99), p.ms(100))
	}
}

// rows prints what there are samples of as rows of a table, with the load beside it.
func rows(t chaos.Times, nodes, rate int, state string, standbys int) {
	load, err := os.ReadFile("/proc/loadavg")
	minutes, _, _ := strings.Cut(string(load), " ")
	if err != nil {
		minutes = "?"
	}
	for _, p := range kinds(t) {
		if len(p.samples)+p.failed > 0 {
			fmt.Fprintf(os.Stdout, "| %d | %d/s | %s | %d | %s | %s | %d ms | %d ms | %d ms | %s |\n", nodes, rate, state, standbys, p.name, p.count(), p.ms(50), p.ms(99), p.ms(100), minutes)
		}
	}
}

// size reads a number of bytes, with MB or GB behind it.
func size(text string) (int64, error) {
	for suffix, unit := range map[string]int64{"MB": 1 << 20, "GB": 1 << 30, "": 1} {
		if n, err := strconv.ParseInt(strings.TrimSuffix(text, suffix), 10, 64); err == nil && n >= 0 {
			if suffix == "" || strings.HasSuffix(text, suffix) {
				return n * unit, nil
			}
		}
	}
	return 0, fmt.Errorf("--state %q: give bytes, 100MB or 1GB", text)
}
