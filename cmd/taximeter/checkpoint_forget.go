package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"taximeter/checkpoint"
	"taximeter/cmd/internal/operator"
)

func newCheckpointForgetSink() *cobra.Command {
	var o chainFlags
	var reason string
	var yes bool
	c := &cobra.Command{
		Use:   "forget-sink NAME --reason TEXT",
		Short: "Let no outbox wait any more for a sink that is given up",
		Long: `Let no outbox wait any more for a sink, such as a lake that is given up. What it does
not hold yet it will never get, also if it is configured again later.

Nodes that run let go of it at once. Take it out of the configuration of every node before
that starts again: a node that starts with it feeds it anew.`,
		Example: `  taximeter checkpoint forget-sink analytics --reason "moved to another database, ticket 1234"`,
		Args:    arguments("a sink's name", 1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := checkReason(reason); err != nil {
				return err
			}
			x, err := o.open()
			if err != nil {
				return err
			}
			tip, err := x.chain.Tip(c.Context())
			if err != nil {
				return x.explain(err)
			}
			if !slices.ContainsFunc(tip.Sinks, func(f checkpoint.Fed) bool { return f.Name == args[0] }) {
				return usage(fmt.Errorf("namespace %s feeds no sink %q; it feeds %v", x.cfg.Namespace, args[0], tip.Sinks))
			}
			waiting := 0
			for _, e := range tip.Entries {
				waiting += len(e.Pending)
			}
			fmt.Fprintf(c.ErrOrStderr(), "%d outboxes wait for one sink or another; sink %s will not get those it lacks\n", waiting, args[0])
			if err := confirm(c.Context(), c, yes); err != nil {
				return err
			}
			m, err := operator.ForgetSink(c.Context(), x.chain, args[0], operator.NewAudit("checkpoint forget-sink "+args[0], reason))
			if m.Number == 0 {
				return err
			}
			if o.asJSON {
				err = errors.Join(err, printJSON(c, map[string]any{"numero": m.Number, "destinos": m.Sinks}))
			} else {
				fmt.Fprintf(c.OutOrStdout(), "done: from checkpoint %d on nothing waits for %s\n", m.Number, args[0])
			}
			return madeAnyway(m, err)
		},
	}
	o.register(c)
	reasonFlag(c, &reason, &yes)
	return c
}
