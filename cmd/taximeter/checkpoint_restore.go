package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"taximeter/checkpoint"
	"taximeter/cmd/internal/operator"
	"taximeter/cmd/internal/ui"
)

func newCheckpointRestore() *cobra.Command {
	var o chainFlags
	var reason string
	var yes, unverified, giveUp bool
	c := &cobra.Command{
		Use:   "restore N --reason TEXT",
		Short: "Take the namespace back to an earlier checkpoint",
		Long: `Take all partitions back to checkpoint N. The chain goes on with the next number; nothing
of it is deleted, and a later restore may go forward again while the checkpoints are
retained.

Nothing needs to be stopped: a running node sees within a second that its runs are
revoked, drops their state, and begins all partitions anew from checkpoint N; what it had
not committed never becomes public.

Bills and windows published since stay public. What is computed again and equals them is
not sent again; what differs goes out as the next version. The input topics must still
hold the offsets of checkpoint N (` + "`taximeter checkpoint show N`" + `).`,
		Example: `  taximeter checkpoint restore 41 --reason "checkpoint 45 has a damaged file, ticket 1234"`,
		Args:    arguments("a checkpoint's number", 1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			n, err := number(args[0])
			if err != nil {
				return err
			}
			if err := checkReason(reason); err != nil {
				return err
			}
			x, err := o.open()
			if err != nil {
				return err
			}
			old, err := operator.Read(c.Context(), x.chain, n)
			if err != nil {
				return x.explain(err)
			}
			tip, err := x.chain.Tip(c.Context())
			if err != nil {
				return err
			}
			if !unverified {
				r, err := verify(c.Context(), c, x.store, old)
				if err == nil {
					err = damage(r)
				}
				if err != nil {
					return err
				}
			}
			d, err := operator.Compare(old, tip)
			if err != nil {
				return err
			}
			announce(c, x, old, tip, d)
			if err := confirm(c.Context(), c, yes); err != nil {
				return err
			}
			policy := operator.RefuseDamaged
			if giveUp {
				policy = operator.GiveUpDamaged
			}
			m, err := operator.Restore(c.Context(), x.store, x.chain, n, policy, operator.NewAudit(fmt.Sprintf("checkpoint restore %d", n), reason))
			if _, ok := errors.AsType[*operator.DamagedOutboxError](err); ok {
				return fmt.Errorf("%w\nbring them back from a backup, or give --give-up-damaged: what they held is computed again", err)
			}
			if m.Number == 0 {
				return err
			}
			if o.asJSON {
				err = errors.Join(err, printJSON(c, operator.Summarize(m, []checkpoint.Audit{{Token: m.Token, Reason: reason}})))
			} else {
				fmt.Fprintf(c.OutOrStdout(), "restored: checkpoint %d, lineage %d, stands where %d stood\n", m.Number, m.Lineage, n)
			}
			return madeAnyway(m, err)
		},
	}
	o.register(c)
	reasonFlag(c, &reason, &yes)
	c.Flags().BoolVar(&unverified, "unverified", false, "do not read checkpoint N whole before")
	c.Flags().BoolVar(&giveUp, "give-up-damaged", false, "give up outboxes that wait for publication and cannot be read")
	return c
}

// announce tells a person what is about to happen.
func announce(c *cobra.Command, x opened, old, tip checkpoint.Manifest, d operator.Diff) {
	again := int64(0)
	for _, p := range d.Partitions {
		for _, n := range p.Offsets {
			again += n
		}
	}
	pending := 0
	for _, e := range tip.Entries {
		pending += len(e.Pending)
	}
	w := c.ErrOrStderr()
	fmt.Fprintf(w, "namespace %s in %s: from checkpoint %d (%s) back to %d (%s)\n", x.cfg.Namespace, x.where, tip.Number, ui.Instant(tip.CreatedAt), old.Number, ui.Instant(old.CreatedAt))
	fmt.Fprintf(w, "%s offsets of %d partitions are read again; what was published stays public, and %d outboxes that wait for it still are\n", ui.Count(again), len(d.Partitions), pending)
	fmt.Fprintln(w, "running nodes drop their state within a second and begin all partitions anew from there")
}
