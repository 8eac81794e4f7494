package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"taximeter/cmd/internal/city"
	"taximeter/cmd/internal/outfile"
	"taximeter/cmd/internal/ui"
	"taximeter/schemas"
	"taximeter/schemas/edge"
)

func newGenerate() *cobra.Command {
	var out string
	var events int64
	var rate float64
	var seed uint64
	start := "2026-01-05T06:00:00Z"
	c := &cobra.Command{
		Use:   "generate",
		Short: "Write some life of the simulated city to files",
		Long: `Write events of the simulated city, with its tariffs and alert rules, to a folder:
events.jsonl.gz, tarifas.json, regras.json. The same flags give the same bytes.`,
		Example: `  taximeter generate --count 1000000 --rate 12 --out day
  taximeter simulate --events day/events.jsonl.gz --tariffs day/tarifas.json --rules day/regras.json --out results`,
		Args: arguments("nothing", 0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			at, err := time.Parse(time.RFC3339, start)
			if err != nil {
				return usage(fmt.Errorf("--start %q: give an instant such as 2026-01-05T06:00:00Z", start))
			}
			from := schemas.Millis(at.UnixMilli())
			cfg := city.Default(seed, from)
			cfg.EventsPerSecond, cfg.Events = rate, events
			if events <= 0 {
				return usage(errors.New("--count: give 1 or more"))
			}
			live, err := city.New(cfg)
			if err != nil {
				return usage(err)
			}
			if err := os.MkdirAll(out, 0o777); err != nil {
				return fmt.Errorf("cannot make the folder %s: %w; choose another with --out", out, err)
			}
			if err := outfile.MakeWay(nil, filepath.Join(out, cityEvents), filepath.Join(out, cityTariffs), filepath.Join(out, cityRules)); err != nil {
				return err
			}
			if err := writeCity(c.Context(), out, live, from); err != nil {
				return err
			}
			n := live.Counts()
			fmt.Fprintf(c.OutOrStdout(), "%s: %s events of %s trips; %s repeated, %s late, %s very late, %s invalid, %s with a clock ahead\n", out,
				ui.Count(n.Records), ui.Count(n.Trips), ui.Count(n.Repeated), ui.Count(n.Late), ui.Count(n.VeryLate), ui.Count(n.Invalid), ui.Count(n.Ahead))
			return nil
		},
	}
	f := c.Flags()
	f.StringVar(&out, "out", "city", "folder for the files")
	f.Int64Var(&events, "count", 100_000, "events to write")
	f.Float64Var(&rate, "rate", 50, "events per second of event time")
	f.Uint64Var(&seed, "seed", 1, "of the city")
	f.StringVar(&start, "start", start, "instant of the first event, RFC 3339")
	return c
}

const cityEvents, cityTariffs, cityRules = "events.jsonl.gz", "tarifas.json", "regras.json"

// writeCity writes the three files; they get their names together, the events last.
func writeCity(ctx context.Context, dir string, live *city.City, start schemas.Millis) (err error) {
	var files []*outfile.File
	defer func() {
		for _, f := range files {
			err = errors.Join(err, f.Discard()) // what has its name by now stays
		}
	}()
	create := func(name string) (*outfile.File, error) {
		f, err := outfile.Create(filepath.Join(dir, name))
		if err == nil {
			files = append(files, f)
		}
		return f, err
	}
	f, err := create(cityEvents)
	if err != nil {
		return err
	}
	w := edge.NewWriter(f)
	for {
		line, ok := live.Next()
		if !ok {
			break
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := w.Write(line); err != nil {
			return err
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for name, content := range map[string]any{cityTariffs: city.Tariffs(start), cityRules: city.Rules(start)} {
		f, err := create(name)
		if err != nil {
			return err
		}
		e := json.NewEncoder(f)
		e.SetIndent("", "  ")
		if err := e.Encode(content); err != nil {
			return err
		}
	}
	return outfile.Publish(append(slices.Clone(files[1:]), files[0])...)
}
