package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"taximeter/checkpoint"
	"taximeter/cmd/internal/operator"
	"taximeter/cmd/internal/ui"
	"taximeter/schemas"
)

func newCheckpointRestore() *cobra.Command {
	var o chainFlags
	var reason string
	var brokers []string
	var yes, unverified, giveUp, passOver, overGap bool
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
hold what comes after checkpoint N: if the brokers answer, the command looks, and refuses
what would lose records that later checkpoints have counted.`,
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
			tip, err := tipOf(c.Context(), x, passOver, brokers)
			if err != nil {
				return x.explain(err)
			}
			old, err := operator.Read(c.Context(), x.chain, n)
			if err != nil {
				return err
			}
			if !unverified {
				r, err := verify(c.Context(), c, x, old)
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
			if err := x.held(c, brokers, old, tip, overGap); err != nil {
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
	c.Flags().BoolVar(&passOver, "pass-over-damaged-tip", false, "let the chain go on although its newest manifests are damaged and no backup has them; needs the Kafka brokers")
	c.Flags().StringSliceVar(&brokers, "brokers", nil, "Kafka brokers, separated by commas (default those of the configuration)")
	c.Flags().BoolVar(&overGap, "accept-gap", false, "go back though the input topics no longer hold all that would be read again")
	c.Flags().BoolVar(&giveUp, "give-up-damaged", false, "give up outboxes that wait for publication and cannot be read")
	return c
}

// tipOf is the manifest that the restore follows.
func tipOf(ctx context.Context, x opened, passOver bool, brokers []string) (checkpoint.Manifest, error) {
	tip, err := x.chain.Tip(ctx)
	if _, damaged := errors.AsType[*checkpoint.CorruptError](err); !damaged {
		if err == nil && passOver {
			err = usage(errors.New("the newest manifest is not damaged: leave out --pass-over-damaged-tip"))
		}
		return tip, err
	}
	if !passOver {
		return tip, fmt.Errorf("%w\nbring that object back from a backup; if there is none, stop all nodes and give --pass-over-damaged-tip with the newest checkpoint that verifies", err)
	}
	where, err := remoteOf(x.cfg, brokers)
	if err != nil {
		return checkpoint.Manifest{}, err
	}
	logs, err := readInputs(ctx, where)
	if err != nil {
		return checkpoint.Manifest{}, err
	}
	return x.chain.PassOver(ctx, logs.ends, schemas.Millis(time.Now().UnixMilli()))
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
