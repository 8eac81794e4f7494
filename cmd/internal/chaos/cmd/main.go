// Command cmd runs the fault harness; see package chaos.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"taximeter/cmd/internal/chaos"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	runs := flag.Int("n", 20, "runs")
	seed := flag.Uint64("seed", 1, "seed of the first run; each next one has the next")
	parallel := flag.Int("parallel", 3, "runs at once")
	binary := flag.String("taximeter", "", "a taximeter built with the tag chaos")
	dir := flag.String("dir", "", "folder for the files of runs; those that failed stay there")
	verbose := flag.Bool("v", false, "tell every run")
	flag.Parse()
	if *binary == "" {
		return fmt.Errorf("--taximeter is missing: build one with `go build -tags chaos ./cmd/taximeter`")
	}
	o := chaos.Options{Binary: *binary, Dir: *dir, Log: slog.Default()}
	if o.Dir == "" {
		var err error
		if o.Dir, err = os.MkdirTemp("", "taximeter-chaos-"); err != nil {
			return err
		}
	}
	var total chaos.Result
	var mu sync.Mutex
	seeds := make(chan uint64)
	var working sync.WaitGroup
	failed, done := 0, 0
	for range *parallel {
		working.Go(func() {
			for seed := range seeds {
				s := chaos.Draw(seed)
				r := chaos.Run(ctx, o, s)
				mu.Lock()
				done++
				total.Duplicated += r.Duplicated
				total.Missing += r.Missing
				total.Differing += r.Differing
				total.Starts += r.Starts
				if *verbose || !r.OK() {
					fmt.Fprintln(os.Stderr, s)
				}
				if !r.OK() {
					failed++
					fmt.Fprintf(os.Stderr, "seed %d FAILED: duplicated=%d missing=%d differing=%d (make chaos N=1 SEED=%d); files in %s\n", seed, r.Duplicated, r.Missing, r.Differing, seed, o.Dir)
					for _, f := range r.Findings {
						fmt.Fprintln(os.Stderr, "  ", f)
					}
				}
				mu.Unlock()
			}
		})
	}
	for i := range *runs {
		if ctx.Err() != nil {
			break
		}
		seeds <- *seed + uint64(i)
	}
	close(seeds)
	working.Wait()
	fmt.Fprintf(os.Stderr, "%d processes started\n", total.Starts)
	fmt.Printf("runs=%d duplicated=%d missing=%d differing=%d\n", done, total.Duplicated, total.Missing, total.Differing)
	if failed > 0 || done < *runs {
		return fmt.Errorf("%d of %d runs failed", failed+*runs-done, *runs)
	}
	return nil
}
