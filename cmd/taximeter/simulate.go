package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/spf13/cobra"

	"taximeter/actors/expression"
	"taximeter/actors/rule"
	"taximeter/actors/trip"
	"taximeter/cmd/internal/simulation"
	"taximeter/cmd/internal/ui"
	"taximeter/schemas"
	"taximeter/schemas/edge"
)

func newSimulate() *cobra.Command {
	var o simulation.Options
	var tariffs, rules string
	var asJSON bool
	c := &cobra.Command{
		Use:   "simulate --events F... --tariffs F --out DIR",
		Short: "Meter and bill event files without a broker",
		Long: `Meter and bill event files without a broker: the same code as in the cluster, on
the records in the order of the files, each in the partition where Kafka would put
it. The same files give the same results, byte for byte.

Events are JSON lines, plain or gzip, such as
  {"topic":"corridas.telemetria","value":{"eventId":"e1","tripId":"t1","motoristaId":"m1",
   "ocorridoEm":1764000000123,"latitude":41.15,"longitude":-8.61}}
(one event a line); the other topics are corridas.eventos and pagamentos.eventos.

Tariffs are a JSON array such as
  [{"tarifaId":"t","regiao":"*","categoria":"*","vigenteDesde":"2013-01-01T00:00:00Z",
    "moeda":"EUR","bandeirada":"2.50","precoKm":"0.80","precoMin":"0.20","minimo":"4.00",
    "taxaCancelamento":"3.00","carenciaS":120}]

DIR gets bills.jsonl, windows.jsonl, alerts.jsonl and dlq.jsonl in the order in which
the input produced them, and verdicts.json, which proves that no record is lost. What an
earlier run left there is removed first; a run that fails leaves none of these files.`,
		Example: `  taximeter simulate --events day.jsonl.gz --tariffs tarifas.json --out results
  taximeter simulate --events 1.jsonl --events 2.jsonl --tariffs t.json --rules r.json --out results
  taximeter simulate --events day.jsonl --tariffs t.json --max-speed-kmh 0 --out results --json`,
		Args: arguments("event files", 0, -1),
		RunE: func(c *cobra.Command, args []string) error {
			o.Events = append(o.Events, args...) // --events a b: the shell's * gives many
			if tariffs == "" {
				return usage(errors.New("no tariffs: nothing could be billed; give --tariffs FILE, a JSON array (the help shows one)"))
			}
			if o.Out == "" {
				return usage(errors.New("no folder for the results; give --out DIR"))
			}
			if err := o.Validate(); err != nil {
				return usage(err)
			}
			err := simulation.MakeWay(o.Out, append(slices.Clone(o.Events), tariffs, rules)...)
			if err != nil {
				return err
			}
			if o.Tariffs, err = readTariffs(tariffs); err != nil {
				return err
			}
			if _, o.Rules, err = readRules(rules); err != nil {
				return err
			}
			bar := ui.NewBar(c.ErrOrStderr(), "simulating")
			o.OnProgress = bar.Show
			summary, err := simulation.Run(c.Context(), o)
			bar.Done()
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(c, summary)
			}
			summary.Print(c.OutOrStdout())
			return nil
		},
	}
	f := c.Flags()
	f.StringArrayVar(&o.Events, "events", nil, "event file (JSON lines, plain or gzip); several are read one after the other")
	f.StringVar(&tariffs, "tariffs", "", "tariffs, a JSON array of Tarifa")
	f.StringVar(&rules, "rules", "", "alert rules, a JSON array of Regra; without it there are no alerts")
	f.StringVar(&o.Out, "out", "", "folder for the results")
	f.Float64Var(&o.MaxSpeedKmh, "max-speed-kmh", trip.DefaultSettings().MaxSpeedKmh, "points reached faster than this are not measured; 0 = measure all")
	f.IntVar(&o.Partitions, "partitions", 24, "partitions of the input topics")
	f.BoolVar(&asJSON, "json", false, "print the summary as JSON")
	return c
}

func readTariffs(path string) ([]schemas.Tariff, error) {
	all, err := edge.ReadTariffsFile(path)
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		err = fmt.Errorf("cannot read tariffs from %s: %w; check the name given to --tariffs", path, at.Err)
	}
	return all, err
}

// readRules reads the rules of a file and compiles them; no file, no rules.
func readRules(path string) ([]schemas.Rule, *rule.Book, error) {
	if path == "" {
		return nil, &rule.Book{}, nil
	}
	all, err := edge.ReadRulesFile(path)
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		err = fmt.Errorf("cannot read rules from %s: %w; check the name given to --rules", path, at.Err)
	}
	if err != nil {
		return nil, nil, err
	}
	compile, err := expression.NewCompiler()
	if err != nil {
		return nil, nil, err
	}
	book, err := rule.NewBook(all, compile)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	return all, book, nil
}

func printJSON(c *cobra.Command, v any) error {
	e := json.NewEncoder(c.OutOrStdout())
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
