package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"taximeter/checkpoint"
	"taximeter/cmd/internal/reconcile"
	"taximeter/cmd/internal/ui"
	"taximeter/schemas"
	"taximeter/schemas/registry"
	"taximeter/sinks/analytics"
	"taximeter/sinks/iceberg"
)

func newReconcile() *cobra.Command {
	var o chainFlags
	var brokers []string
	var registryURL, dayText, fromText, toText string
	var most int
	c := &cobra.Command{
		Use:   "reconcile --day D",
		Short: "Compare bills with payments, offsets with verdicts, the tables with both",
		Long: `Compare, as of the newest checkpoint: the bills of the trips that ended on a UTC day with
their payments, and with the state; all offsets ever consumed with their verdicts, and with
what the topics hold; and, where they are configured, the lake's and the analytical table's
figures with these.

It writes nothing, and needs no node and room for one partition's state in the folder for
temporary files ($TMPDIR). Differences are listed, and exit code 1 tells that there are any.`,
		Example: `  taximeter reconcile --day 2026-11-28 --config taximeter.yaml
  taximeter reconcile --from 2026-11-01 --to 2026-12-01 --json | jq .diferencas`,
		Args: arguments("nothing", 0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			from, until, err := stretch(dayText, fromText, toText, time.Now())
			if err != nil {
				return err
			}
			x, err := o.open()
			if err != nil {
				return err
			}
			if len(brokers) > 0 {
				x.cfg.Kafka.Brokers = brokers
			}
			if registryURL != "" {
				x.cfg.Registry.URL = registryURL
			}
			r, err := runReconcile(c.Context(), x, from, until)
			if err != nil {
				return err
			}
			if o.asJSON {
				if err := printJSON(c, r); err != nil {
					return err
				}
			} else {
				printReconciliation(c.OutOrStdout(), r, most)
			}
			if n := len(r.Differences); n > 0 {
				return fmt.Errorf("%s differences; docs/reconcile.md tells what to do about each kind", ui.Count(n))
			}
			return nil
		},
	}
	o.register(c)
	f := c.Flags()
	f.StringSliceVar(&brokers, "brokers", nil, "Kafka brokers, separated by commas (default those of the configuration)")
	f.StringVar(&registryURL, "registry", "", "address of the schema registry (default that of the configuration)")
	f.StringVar(&dayText, "day", "", "trips that ended on this UTC day, such as 2026-11-28")
	f.StringVar(&fromText, "from", "", "instead of --day: trips that ended since; a day, an instant, or how long ago")
	f.StringVar(&toText, "to", "", "with --from: and before (default: now)")
	f.IntVar(&most, "max", 100, "differences to list; 0 = all. --json lists all")
	return c
}

// stretch reads the flags that say which trips.
func stretch(dayText, fromText, toText string, now time.Time) (from, until schemas.Millis, err error) {
	switch {
	case dayText != "" && fromText == "" && toText == "":
		return day("day", dayText)
	case dayText != "" || fromText == "":
		return 0, 0, usage(errors.New("which trips? give --day D, or --from and --to"))
	}
	if from, err = when("from", fromText, now); err != nil {
		return 0, 0, err
	}
	until = schemas.Millis(now.UnixMilli())
	if toText != "" {
		if until, err = when("to", toText, now); err != nil {
			return 0, 0, err
		}
	}
	if until <= from {
		return 0, 0, usage(fmt.Errorf("--to %s is not after --from %s", toText, fromText))
	}
	return from, until, nil
}

func runReconcile(ctx context.Context, x opened, from, until schemas.Millis) (r *reconcile.Report, err error) {
	tip, err := x.chain.Tip(ctx)
	if err != nil {
		return nil, x.explain(err)
	}
	where, err := remoteOf(x.cfg, nil)
	if err != nil {
		return nil, err
	}
	client, _, err := where.kafka(ctx, []string{schemas.TopicPayments, schemas.TopicDLQ})
	if err != nil {
		return nil, err
	}
	client.Close()
	schemaClient, err := where.schemas()
	if err != nil {
		return nil, err
	}
	scratch, err := os.MkdirTemp("", "taximeter-reconcile-")
	if err != nil {
		return nil, fmt.Errorf("no room for the state of a partition: %w; name a folder with TMPDIR", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	o := reconcile.Options{From: from, Until: until, Store: x.store, Tip: tip, Kafka: where.Kafka, Registry: schemaClient, Scratch: scratch,
		Log: slog.New(slog.DiscardHandler)}
	closing, err := openTables(ctx, x, schemaClient, &o)
	defer func() { err = errors.Join(err, closing()) }()
	if err != nil {
		return nil, err
	}
	if r, err = reconcile.Run(ctx, o); err != nil {
		err = cmp.Or(x.retired(ctx, tip), where.noRegistry(err))
	}
	return r, err
}

// openTables opens what the configuration and the chain know of; what it has opened is to
// be closed even after an error.
func openTables(ctx context.Context, x opened, schemaClient *registry.Client, o *reconcile.Options) (closing func() error, err error) {
	var close []func() error
	closing = func() (err error) {
		for _, f := range close {
			err = errors.Join(err, f())
		}
		return err
	}
	if x.cfg.Lake.Enabled() {
		lake, err := iceberg.Open(ctx, x.cfg.Lake, checkpoint.Namespace(x.cfg.Namespace), nil, o.Log)
		if err != nil {
			return closing, err
		}
		close, o.Lake = append(close, lake.Close), lake
	}
	if url := x.cfg.Analytics.URL; url != "" {
		db, err := analytics.Open(ctx, url, x.cfg.Namespace, o.Log)
		if err != nil {
			return closing, err
		}
		close, o.Analytics = append(close, db.Close), db
	}
	return closing, nil
}

func printReconciliation(w io.Writer, r *reconcile.Report, most int) {
	fmt.Fprintf(w, "namespace %s as of checkpoint %d, trips that ended in [%s, %s)\n\n", r.Namespace, r.Checkpoint, ui.Instant(r.From), ui.Instant(r.Until))
	trips := ui.Table{Head: []string{"bill against payments", ">trips"}}
	for _, word := range slices.Sorted(maps.Keys(r.Trips)) {
		trips.Add(word, ui.Count(r.Trips[word]))
	}
	if trips.Len() == 0 {
		trips.Add("(no trips)", "0")
	}
	trips.Print(w, "")
	for _, currency := range slices.Sorted(maps.Keys(r.Money)) {
		m := r.Money[currency]
		fmt.Fprintf(w, "%s: billed %s, captured %s, open %s\n", named(currency), ui.Group(m.Billed.String()), ui.Group(m.Captured.String()), ui.Group((m.Billed - m.Captured).String()))
	}
	var offsets, records, control, skipped, behind int64
	for _, p := range r.Partitions {
		offsets, records, control, skipped, behind = offsets+p.Offsets, records+p.Records, control+p.Control, skipped+p.Skipped, behind+p.Behind
	}
	fmt.Fprintf(w, "\n%s partitions: %s offsets consumed = %s records with a verdict + %s control offsets + %s skipped; %s more in the topics\n",
		ui.Count(len(r.Partitions)), ui.Count(offsets), ui.Count(records), ui.Count(control), ui.Count(skipped), ui.Count(behind))
	printTable(w, "lake", "rows of verdicts", "partitions", r.Lake)
	printTable(w, "analytical table", "trips", "trips", r.Analytics)
	if len(r.Differences) > 0 {
		fmt.Fprintln(w)
		table := ui.Table{Head: []string{"difference", ">partition", "trip", ""}}
		for i, d := range r.Differences {
			if most > 0 && i == most {
				break
			}
			table.Add(d.Kind, fmt.Sprint(d.Partition), string(d.TripID), d.Detail)
		}
		table.Print(w, "")
	}
	line := fmt.Sprintf("differences=%d", len(r.Differences))
	kinds, counts := r.Kinds()
	for _, kind := range kinds {
		line += fmt.Sprintf(" %s=%d", kind, counts[kind])
	}
	fmt.Fprintln(w, "\n"+line)
}

func printTable(w io.Writer, name, rows, compared string, t *reconcile.Table) {
	if t == nil {
		fmt.Fprintf(w, "%s: not configured, not compared\n", name)
		return
	}
	var more strings.Builder
	if t.Behind > 0 {
		fmt.Fprintf(&more, "; %s partitions behind and not compared", ui.Count(t.Behind))
	}
	if t.Partial > 0 {
		fmt.Fprintf(&more, "; %s partitions hold only what came after it was switched on", ui.Count(t.Partial))
	}
	fmt.Fprintf(w, "%s: complete up to checkpoint %d, %s %s, %s %s compared%s\n", name, t.Checkpoint, ui.Count(t.Rows), rows, ui.Count(t.Compared), compared, more.String())
}
