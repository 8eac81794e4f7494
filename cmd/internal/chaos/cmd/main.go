// Command cmd runs the fault harness; see package chaos. `make chaos` and `make chaos-real`
// build what it needs. It closes with one line on standard output and with exit status 1
// unless every run went well.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"

	"taximeter/cmd/internal/chaos"
	"taximeter/internal/program"
)

func main() { program.Main("chaos", run) }

func run(ctx context.Context) (err error) {
	n := flag.Int("n", 20, "runs")
	seed := flag.Uint64("seed", 1, "seed of the first run; each next one has the next")
	parallel := flag.Int("parallel", 4, "runs at once")
	binary := flag.String("taximeter", "", "a taximeter built with the tag chaos")
	dir := flag.String("dir", "", "folder for the files of runs; those of runs that failed stay there; default: a new one")
	real := flag.Bool("real", false, "on real Kafka and S3, under .ci/with-servers")
	tables := flag.Uint64("tables", 0, "every so manieth seed keeps a lake and analytical tables; 0: none")
	readers := flag.String("readers", "", "a Python that can check them; .ci/readers/install prints where it is")
	verbose := flag.Bool("v", false, "tell of every run")
	flag.Parse()
	if *binary == "" || *n < 1 || *parallel < 1 {
		return errors.New("--taximeter must name a taximeter built with `go build -tags chaos ./cmd/taximeter`, -n and -parallel be 1 or more")
	}
	if *tables > 0 && *readers == "" {
		return errors.New("--tables needs --readers, which check them")
	}
	o := chaos.Options{Binary: *binary, Dir: *dir, Log: slog.Default(), Tables: *tables, Readers: *readers}
	if *real {
		if o.Real, err = chaos.RealFromEnvironment(); err != nil {
			return err
		}
	}
	if o.Dir == "" {
		if o.Dir, err = os.MkdirTemp("", "taximeter-chaos-"); err != nil {
			return err
		}
	}
	target := "chaos"
	if *real {
		target = "chaos-real"
	}
	again := map[bool]string{true: " TABLES=1"}
	total := chaos.Campaign(ctx, o, *seed, *n, *parallel, func(s chaos.Scenario, r chaos.Result) {
		if *verbose || !r.OK() {
			fmt.Fprintln(os.Stderr, s)
		}
		if r.OK() {
			return
		}
		fmt.Fprintf(os.Stderr, "seed %d FAILED: duplicated=%d missing=%d differing=%d; its files are in %s; again: make %s N=1 SEED=%d%s\n",
			s.Seed, r.Duplicated, r.Missing, r.Differing, o.Dir, target, s.Seed, again[s.Tables])
		for _, f := range r.Findings {
			fmt.Fprintln(os.Stderr, "  "+f)
		}
	})
	fmt.Fprintln(os.Stderr, total.Lives())
	fmt.Fprintln(os.Stdout, total)
	switch {
	case total.Failed > 0:
		return fmt.Errorf("%d of %d runs failed", total.Failed, total.Runs)
	case total.Runs < *n:
		return fmt.Errorf("interrupted after %d of %d runs", total.Runs, *n)
	case *dir == "":
		return os.Remove(o.Dir)
	}
	return nil
}
