package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"taximeter/cmd/internal/letters"
	"taximeter/cmd/internal/operator"
	"taximeter/cmd/internal/ui"
	"taximeter/schemas"
)

func newDLQRequeue() *cobra.Command {
	var o letterFlags
	var r requeue
	c := &cobra.Command{
		Use:   "requeue [SOURCE...]",
		Short: "Send dead letters to the meter again, after a mend",
		Long: `Send dead letters, named by their sources or selected by flags, to the topic they came
from: the original key and bytes, so that they go through the same checks again. An event
that was counted in the meantime becomes duplicado.

Letters that would only come back, because their bytes alone decide it, are not sent. What
was sent is kept on record, and not sent a second time without --again. Nothing is sent
before you agree: at the terminal, or with --confirm and the number that --dry-run tells.`,
		Example: `  taximeter dlq requeue --reason esquema_desconhecido --since 2026-11-28 --dry-run
  taximeter dlq requeue --reason esquema_desconhecido --since 2026-11-28 --confirm 1200
  taximeter dlq requeue corridas.telemetria/3/28`,
		Args: arguments("letters' sources", 0, -1),
		RunE: func(c *cobra.Command, args []string) error {
			r.confirmed = c.Flags().Changed("confirm")
			if err := r.run(c.Context(), c, &o, args); err != nil {
				return o.from.noRegistry(err)
			}
			if r.asJSON {
				return printJSON(c, r.summary())
			}
			return nil
		},
	}
	o.register(c, "")
	f := c.Flags()
	f.BoolVar(&r.dryRun, "dry-run", false, "only tell what would be sent")
	f.BoolVar(&r.again, "again", false, "also send what was sent again before")
	f.IntVar(&r.confirm, "confirm", 0, "how many letters you expect to be sent; with any other number nothing is")
	f.BoolVar(&r.asJSON, "json", false, "print the result as JSON")
	return c
}

// requeue is one run of dlq requeue.
type requeue struct {
	dryRun, again, asJSON, confirmed bool
	confirm                          int
	plan                             letters.Plan
	sent                             int
}

func (r *requeue) run(ctx context.Context, c *cobra.Command, o *letterFlags, sources []string) error {
	desk, err := o.open(ctx)
	if err != nil {
		return err
	}
	var all []*letters.Letter
	if len(sources) > 0 {
		all, err = findLetters(ctx, desk, sources)
	} else {
		err = desk.Read(ctx, o.filter, nil, func(l *letters.Letter) error { all = append(all, l); return nil })
	}
	if err != nil {
		return err
	}
	open := desk.OpenRequeue
	if r.dryRun {
		open = desk.PreviewRequeue
	}
	session, err := open(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	repeats, now := letters.RefuseRepeats, schemas.Millis(time.Now().UnixMilli())
	if r.again {
		repeats = letters.SendRepeats
	}
	if r.plan, err = session.Plan(ctx, all, repeats, now); err != nil {
		return err
	}
	printPlan(c.ErrOrStderr(), r.plan)
	if r.dryRun || len(r.plan.Send) == 0 && !r.confirmed {
		return nil
	}
	if err := r.agreed(ctx, c); err != nil || len(r.plan.Send) == 0 {
		return err
	}
	if err := session.Send(ctx, r.plan.Send, string(operator.NewAudit("", "").By), now); err != nil {
		return begun(err)
	}
	r.sent = len(r.plan.Send)
	if !r.asJSON {
		fmt.Fprintf(c.OutOrStdout(), "sent %s dead letters again\n", ui.Count(r.sent))
	}
	return nil
}

// agreed makes sure that somebody wants this many sent.
func (r *requeue) agreed(ctx context.Context, c *cobra.Command) error {
	if !r.confirmed {
		return agree(ctx, c, fmt.Sprintf("give --confirm %d", len(r.plan.Send)))
	}
	if r.confirm != len(r.plan.Send) {
		return usage(fmt.Errorf("--confirm %d, and %d letters would be sent; nothing was", r.confirm, len(r.plan.Send)))
	}
	return nil
}

// printPlan tells what would be sent by reason, and why the rest would not.
func printPlan(w io.Writer, p letters.Plan) {
	type line struct{ reason, what string }
	counts := make(map[line]int)
	for _, l := range p.Send {
		counts[line{l.Reason.String(), "to be sent to " + *l.Topic}]++
	}
	for _, l := range p.Held {
		counts[line{l.Reason.String(), "not sent: " + l.Why}]++
	}
	var lines []line
	for l := range counts {
		lines = append(lines, l)
	}
	slices.SortFunc(lines, func(a, b line) int {
		return cmp.Or(strings.Compare(a.reason, b.reason), strings.Compare(a.what, b.what))
	})
	table := ui.Table{Head: []string{"reason", ">letters", ""}}
	for _, l := range lines {
		table.Add(l.reason, ui.Count(counts[l]), l.what)
	}
	table.Print(w, "")
	fmt.Fprintf(w, "%s to be sent, %s not\n", ui.Count(len(p.Send)), ui.Count(len(p.Held)))
}

// requeued is the result as JSON.
type requeued struct {
	Planned int          `json:"planned"`
	Sent    int          `json:"sent"`
	Held    []heldLetter `json:"held,omitempty"`
}

type heldLetter struct {
	Source string          `json:"source"`
	Reason schemas.Verdict `json:"reason"`
	Why    string          `json:"why"`
}

func (r *requeue) summary() requeued {
	out := requeued{Planned: len(r.plan.Send), Sent: r.sent}
	for _, l := range r.plan.Held {
		out.Held = append(out.Held, heldLetter{l.Source, l.Reason, l.Why})
	}
	return out
}
