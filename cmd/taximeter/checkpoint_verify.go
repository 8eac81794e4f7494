package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"taximeter/checkpoint"
	"taximeter/cmd/internal/operator"
	"taximeter/cmd/internal/ui"
)

func newCheckpointVerify() *cobra.Command {
	var o chainFlags
	c := &cobra.Command{
		Use:   "verify [N]",
		Short: "Read everything a checkpoint cites and compare it with what was written",
		Long: `Read everything that a checkpoint cites (without N the newest): each file must have the
size and SHA-256 that the manifest says, each waiting outbox must decode, each partition's
state must open, stand at the manifest's offsets and account for every one of them, and
each trip in it must be readable, and each row of a trip be one that the trip knows of.

It needs room for one partition's state in the folder for temporary files ($TMPDIR).
Exit code 1 names every damaged object.`,
		Example: "  taximeter checkpoint verify 45",
		Args:    arguments("a checkpoint's number", 0, 1),
		RunE: func(c *cobra.Command, args []string) error {
			x, m, err := o.read(c.Context(), args)
			if err != nil {
				return err
			}
			r, err := verify(c.Context(), c, x, m)
			if err != nil {
				return err
			}
			if o.asJSON {
				if err := printJSON(c, r); err != nil {
					return err
				}
			} else {
				printReport(c, r)
			}
			return errors.Join(damage(r), orphans(r))
		},
	}
	o.register(c)
	return c
}

func verify(ctx context.Context, c *cobra.Command, x opened, m checkpoint.Manifest) (r operator.Report, err error) {
	scratch, err := os.MkdirTemp("", "taximeter-verify-")
	if err != nil {
		return r, fmt.Errorf("no room for the state of a partition: %w; name a folder with TMPDIR", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	bar := ui.NewBar(c.ErrOrStderr(), fmt.Sprintf("verifying checkpoint %d", m.Number))
	defer bar.Done()
	r, err = operator.Verify(ctx, x.store, m, operator.VerifyOptions{Scratch: scratch, Log: slog.New(slog.DiscardHandler), OnProgress: bar.Show})
	if err == nil && len(r.Faults) > 0 {
		err = x.retired(ctx, m)
	}
	return r, err
}

func printReport(c *cobra.Command, r operator.Report) {
	out := c.OutOrStdout()
	for _, f := range r.Faults {
		fmt.Fprintf(out, "partition %d: %s\n", f.Partition, f.Detail)
	}
	if len(r.Faults) > 0 {
		return
	}
	fmt.Fprintf(out, "checkpoint %d is whole: %s files of %s bytes, states of %s partitions\n", r.Number, ui.Count(r.Files), ui.Count(r.Bytes), ui.Count(r.Headers))
	fmt.Fprintf(out, "%s trips readable, %s records accounted for; waiting for publication: %s bills, %s windows, %s dead letters\n",
		ui.Count(r.Trips), ui.Count(r.Records), ui.Count(r.Outbox.Bills), ui.Count(r.Outbox.Windows), ui.Count(r.Outbox.Letters))
}

// orphans are the program's fault, and no hindrance for a restore.
func orphans(r operator.Report) error {
	if len(r.Orphans) == 0 {
		return nil
	}
	err := fmt.Errorf("checkpoint %d has rows of trips that no trip knows of", r.Number)
	for _, o := range r.Orphans {
		err = fmt.Errorf("%w\npartition %d: %s rows, the first of trip %q", err, o.Partition, ui.Count(o.Rows), o.Trip)
	}
	return fmt.Errorf("%w\nthe partitions run on, and a restore would take the rows along; report it, with this checkpoint", err)
}

func damage(r operator.Report) error {
	if len(r.Faults) == 0 {
		return nil
	}
	err := fmt.Errorf("checkpoint %d is damaged in %d places", r.Number, len(r.Faults))
	for _, f := range r.Faults {
		what := f.Key
		if what == "" {
			what = fmt.Sprintf("the state of partition %d", f.Partition)
		}
		err = fmt.Errorf("%w\n%s", err, what)
	}
	return fmt.Errorf("%w\nbring the objects back from a backup, or go back: taximeter checkpoint restore", err)
}
