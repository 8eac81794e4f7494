package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"taximeter/checkpoint"
	"taximeter/cmd/internal/operator"
	"taximeter/cmd/internal/ui"
	"taximeter/schemas"
)

func newCheckpointShow() *cobra.Command {
	var o chainFlags
	c := &cobra.Command{
		Use:     "show [N]",
		Short:   "Show a checkpoint partition by partition; without N the newest",
		Example: "  taximeter checkpoint show 45",
		Args:    arguments("a checkpoint's number", 0, 1),
		RunE: func(c *cobra.Command, args []string) error {
			x, m, err := o.read(c.Context(), args)
			if err != nil {
				return err
			}
			d, err := operator.Show(c.Context(), x.store, x.chain, m)
			if err != nil {
				return err
			}
			if o.asJSON {
				return printJSON(c, d)
			}
			showCheckpoint(c.OutOrStdout(), d)
			return nil
		},
	}
	o.register(c)
	return c
}

func showCheckpoint(w io.Writer, d operator.Details) {
	fmt.Fprintf(w, "checkpoint %d of %s, lineage %d: %s by %s at %s\n", d.Number, d.Namespace, d.Lineage, d.Cause, d.CreatedBy, ui.Instant(d.CreatedAt))
	if d.Reason != "" {
		fmt.Fprintf(w, "reason: %s\n", d.Reason)
	}
	members := make([]string, len(d.Members))
	for i, id := range d.Members {
		members[i] = string(id)
	}
	fmt.Fprintf(w, "members: %s; retained from %d on\n\n", strings.Join(members, ", "), d.Oldest)
	table := ui.Table{Head: []string{">partition", "owner", ">epoch", ">seal", ">made by", ">telemetry", ">rides", ">payments", "watermark", ">files", ">bytes", ">new", ">unsent", ">seen"}}
	for _, p := range d.Partitions {
		table.Add(strconv.Itoa(int(p.Partition)), named(string(p.Owner)), ui.Count(p.Epoch), ui.Count(p.Seal), ui.Count(p.Made), ui.Count(p.Next[schemas.Telemetry]),
			ui.Count(p.Next[schemas.Rides]), ui.Count(p.Next[schemas.Payments]), ui.Instant(p.Watermark), ui.Count(p.Files), ui.Count(p.Bytes), ui.Count(p.NewBytes),
			ui.Count(p.AlertsUnsent), ui.Count(p.AlertsSeen))
	}
	table.Print(w, "")
	showPending(w, d.Partitions)
	for _, p := range d.Partitions {
		if p.Moved != nil {
			fmt.Fprintf(w, "partition %d: an operator moved its offsets; its files stand at %s\n", p.Partition, offsetsText(*p.Moved))
		}
		if a := p.Abandoned; a != nil {
			fmt.Fprintf(w, "partition %d: a restore left results behind that are public; they are not sent again until offsets %s and watermark %s are reached\n",
				p.Partition, offsetsText(a.Next), ui.Instant(a.Watermark))
		}
	}
}

func showPending(w io.Writer, partitions []operator.Partition) {
	table := ui.Table{Head: []string{">partition", ">made by", ">bills", ">windows", ">dead letters", ">bytes", "fault"}}
	for _, p := range partitions {
		for _, o := range p.Pending {
			table.Add(strconv.Itoa(int(p.Partition)), ui.Count(o.Made), ui.Count(o.Bills), ui.Count(o.Windows), ui.Count(o.Letters), ui.Count(o.Bytes), o.Fault)
		}
	}
	if table.Len() == 0 {
		fmt.Fprintln(w, "\nnothing was waiting for publication")
		return
	}
	fmt.Fprintln(w, "\nnot known as published when it was made:")
	table.Print(w, "  ")
}

func offsetsText(o checkpoint.Offsets) string {
	parts := make([]string, len(o))
	for t, n := range o {
		parts[t] = fmt.Sprintf("%s %s", schemas.Topic(t), ui.Count(n))
	}
	return strings.Join(parts, ", ")
}
