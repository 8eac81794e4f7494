package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"taximeter/cmd/internal/dev"
	"taximeter/cmd/internal/feed"
	"taximeter/cmd/internal/ui"
)

func newDev() *cobra.Command {
	o := dev.DefaultOptions()
	var events []string
	var tariffs, rules, speed string
	var verbose, asJSON bool
	c := &cobra.Command{
		Use:   "dev",
		Short: "Run everything in one process: broker, registry, node and a simulated city",
		Long: `Run a Kafka broker, a schema registry and a real taximeter node in one process.

Without --events a simulated city drives: its last hour is already in the log, so that the
first bills show within seconds, and then it goes on live. With --events a recording is
played, moved in time so that it happens now. With --until-done the recording is consumed
by its own times, everything is billed, and the program ends with a summary.

The state is kept in --data: stop it, start it again, and it goes on where it was.`,
		Example: `  taximeter dev
  taximeter dev --events porto.jsonl.gz --tariffs tarifas.json --until-done
  taximeter dev --events porto.jsonl.gz --tariffs tarifas.json --speed 60`,
		Args: arguments("nothing", 0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			var err error
			if o.Speed, err = feed.ParseSpeed(speed); err != nil {
				return usage(fmt.Errorf("--speed: %w", err))
			}
			o.Events = events
			o.Program = os.Args[0]
			if err := devCatalogue(&o, tariffs, rules); err != nil {
				return err
			}
			if err := o.Validate(); err != nil {
				return usage(err)
			}
			o.Log = devLog(c, verbose)
			o.Say = c.OutOrStdout()
			if asJSON {
				o.Say = c.ErrOrStderr()
			}
			bar := ui.NewBar(c.ErrOrStderr(), "producing")
			o.OnProgress = bar.Show
			o.OnProduced = bar.Done
			home, cleanUp, err := devHome(c, o)
			if err != nil {
				return err
			}
			o.Data = home
			sum, err := dev.Run(c.Context(), o)
			err = errors.Join(err, cleanUp())
			if err != nil || sum == nil {
				return err
			}
			if asJSON {
				return printJSON(c, sum)
			}
			sum.Print(c.OutOrStdout())
			return nil
		},
	}
	f := c.Flags()
	f.StringArrayVar(&events, "events", nil, "event file to play instead of the city (JSON lines, may be gzipped); may be given again")
	f.StringVar(&tariffs, "tariffs", "", "tariff file; needed with --events")
	f.StringVar(&rules, "rules", "", "alert rule file")
	f.StringVar(&speed, "speed", "1", "times as fast as recorded, or max; for --events without --until-done")
	f.BoolVar(&o.UntilDone, "until-done", false, "consume the events by their own times, print a summary and end")
	f.StringVar(&o.Data, "data", "data/dev", "folder of the broker's log, the checkpoints and the local state; --until-done uses a passing one unless given")
	f.StringVar(&o.Out, "out", "", "with --until-done: write what was published to this folder, as simulate does")
	f.Float64Var(&o.MaxSpeedKmh, "max-speed-kmh", o.MaxSpeedKmh, "speed above which the track filter rejects a position; 0 = no filter")
	f.Uint64Var(&o.Seed, "seed", o.Seed, "of the simulated city")
	f.BoolVar(&o.Tables, "tables", o.Tables, "keep a lake and the tables for dashboards, in files below --data")
	f.Float64Var(&o.Rate, "rate", o.Rate, "events per second of the simulated city")
	f.IntVar(&o.Partitions, "partitions", o.Partitions, "partitions of the input topics, when they are made")
	f.IntVar(&o.KafkaPort, "kafka-port", o.KafkaPort, "port of the broker; 0 = any free one")
	f.IntVar(&o.RegistryPort, "registry-port", o.RegistryPort, "port of the schema registry; 0 = any free one")
	f.IntVar(&o.AdminPort, "admin-port", o.AdminPort, "port of the admin HTTP server; 0 = any free one")
	f.DurationVar(&o.Checkpoint, "checkpoint", o.Checkpoint, "time between checkpoints")
	f.BoolVar(&verbose, "verbose", false, "log what the parts do")
	f.BoolVar(&asJSON, "json", false, "print the summary as JSON")
	return c
}

// devCatalogue reads tariffs and rules.
func devCatalogue(o *dev.Options, tariffs, rules string) (err error) {
	if tariffs == "" && len(o.Events) > 0 {
		return usage(errors.New("--tariffs is missing: without prices no trip of the recording can be billed; name a JSON file of tariffs"))
	}
	if tariffs != "" {
		if o.Tariffs, err = readTariffs(tariffs); err != nil {
			return err
		}
	}
	o.Rules, _, err = readRules(rules)
	return err
}

// devHome is the data folder: with --until-done and no --data one that passes.
func devHome(c *cobra.Command, o dev.Options) (home string, cleanUp func() error, err error) {
	if o.UntilDone && !c.Flags().Changed("data") {
		home, err = os.MkdirTemp("", "taximeter-dev-")
		if err != nil {
			return "", nil, fmt.Errorf("cannot make a passing folder: %w; name one with --data", err)
		}
		return home, func() error { return os.RemoveAll(home) }, nil
	}
	if err := os.MkdirAll(o.Data, 0o755); err != nil {
		return "", nil, fmt.Errorf("the data folder cannot be written: %w; choose another with --data", err)
	}
	probe := filepath.Join(o.Data, ".write-check")
	if err := os.WriteFile(probe, nil, 0o600); err != nil {
		return "", nil, fmt.Errorf("the data folder cannot be written: %w; choose another with --data", err)
	}
	return o.Data, func() error { return nil }, os.Remove(probe)
}

func devLog(c *cobra.Command, verbose bool) *slog.Logger {
	level := slog.LevelWarn
	if verbose {
		level = slog.LevelInfo
	}
	return slog.New(slog.NewTextHandler(c.ErrOrStderr(), &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			a.Value = slog.StringValue(a.Value.Time().Format(time.TimeOnly))
		}
		return a
	}}))
}
