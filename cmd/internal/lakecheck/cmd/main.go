// Command cmd is `make lake-check`: see package lakecheck.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"taximeter/cmd/internal/lakecheck"
	"taximeter/cmd/internal/lakecheck/inputs"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		if !errors.Is(err, lakecheck.ErrDiffers) {
			fmt.Fprintln(os.Stderr, "lake-check:", err)
		}
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	python := flag.String("python", "", "interpreter that has the readers; .ci/readers/install prints it")
	shared := flag.String("shared", "../shared", "folder of the reference recordings")
	events := flag.Int64("events", 100_000, "generated events")
	seed := flag.Uint64("seed", 1, "of the generated events")
	keep := flag.String("keep", "", "folder that keeps lakes and tables; without it they are removed")
	flag.Parse()
	dir := *keep
	if dir == "" {
		if dir, err = os.MkdirTemp("", "taximeter-lake-check-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	all := []inputs.Input{inputs.Generated(*seed, *events)}
	if _, err := os.Stat(filepath.Join(*shared, "data")); err == nil {
		all = append(all, inputs.Porto(*shared))
	} else {
		fmt.Fprintf(os.Stderr, "NOTE: no reference recordings at %s (see TAXIMETER_SHARED): real trips are left out\n", *shared)
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	var cases []lakecheck.Case
	for _, in := range all {
		c, err := inputs.Run(ctx, in, filepath.Join(dir, in.Name), log)
		if err != nil {
			return err
		}
		cases = append(cases, c)
	}
	return lakecheck.Check(ctx, *python, dir, cases, os.Stdout)
}
