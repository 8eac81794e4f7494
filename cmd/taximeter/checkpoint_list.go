package main

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"taximeter/cmd/internal/operator"
	"taximeter/cmd/internal/ui"
)

func newCheckpointList() *cobra.Command {
	var o chainFlags
	var most int
	c := &cobra.Command{
		Use:   "list",
		Short: "List the checkpoints that can be restored, newest first",
		Example: `  taximeter checkpoint list
  taximeter checkpoint list --config taximeter.yaml --most 0 --json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			x, err := o.open()
			if err != nil {
				return err
			}
			all, err := operator.List(c.Context(), x.chain, most)
			if err != nil {
				return x.explain(err)
			}
			if o.asJSON {
				return printJSON(c, all)
			}
			table := ui.Table{Head: []string{">number", ">lineage", "cause", "made", "by", ">cut", ">pending", ">files", ">bytes", ">new", "reason"}}
			for _, s := range all {
				if s.Damaged {
					table.Add(ui.Count(s.Number), "", "damaged", "", "", "", "", "", "", "", "bring the object back from a backup; see restore --pass-over-damaged-tip")
					continue
				}
				table.Add(ui.Count(s.Number), ui.Count(s.Lineage), string(s.Cause), ui.Instant(s.CreatedAt), string(s.CreatedBy), ui.Count(s.Sealed),
					ui.Count(s.Pending), ui.Count(s.Files), ui.Count(s.Bytes), ui.Count(s.NewBytes), s.Reason)
			}
			table.Print(c.OutOrStdout(), "")
			return nil
		},
	}
	o.register(c)
	c.Flags().IntVar(&most, "most", 20, "list at most so many; 0 = all")
	return c
}

func newCheckpointDiff() *cobra.Command {
	var o chainFlags
	c := &cobra.Command{
		Use:     "diff N M",
		Short:   "Show what changed from one checkpoint to another",
		Example: "  taximeter checkpoint diff 41 45",
		Args:    arguments("the numbers of two checkpoints", 2, 2),
		RunE: func(c *cobra.Command, args []string) error {
			x, err := o.open()
			if err != nil {
				return err
			}
			from, err := number(args[0])
			if err != nil {
				return err
			}
			to, err := number(args[1])
			if err != nil {
				return err
			}
			a, err := operator.Read(c.Context(), x.chain, from)
			if err != nil {
				return x.explain(err)
			}
			b, err := operator.Read(c.Context(), x.chain, to)
			if err != nil {
				return x.explain(err)
			}
			d, err := operator.Compare(a, b)
			if err != nil {
				return err
			}
			if o.asJSON {
				return printJSON(c, d)
			}
			printDiff(c, d)
			return nil
		},
	}
	o.register(c)
	return c
}

func printDiff(c *cobra.Command, d operator.Diff) {
	out := c.OutOrStdout()
	if len(d.Partitions) > 0 {
		table := ui.Table{Head: []string{">partition", "owner", ">epoch", ">telemetry", ">rides", ">payments", ">watermark", ">shared", ">new files", ">dropped", ">new bytes", ">pending"}}
		for _, p := range d.Partitions {
			owner := named(string(p.ToOwner))
			if p.FromOwner != p.ToOwner {
				owner = named(string(p.FromOwner)) + " to " + owner
			}
			table.Add(strconv.Itoa(int(p.Partition)), owner, more(int64(p.Epochs)), more(p.Offsets[0]), more(p.Offsets[1]), more(p.Offsets[2]),
				more(int64(p.Watermark)/1000)+" s", ui.Count(p.Shared), ui.Count(p.Added), ui.Count(p.Dropped), ui.Count(p.Bytes), more(int64(p.Pending)))
		}
		table.Print(out, "")
	}
	fmt.Fprintf(out, "%d partitions differ between %d and %d, %d do not\n", len(d.Partitions), d.From, d.To, d.Same)
}

// more writes a difference with its sign.
func more(n int64) string {
	if n > 0 {
		return "+" + ui.Count(n)
	}
	return ui.Count(n)
}
