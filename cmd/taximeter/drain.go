package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"taximeter/cluster/admin"
)

const drainPoll = 250 * time.Millisecond

func newNodeDrain() *cobra.Command {
	var at adminAPI
	var patience time.Duration
	c := &cobra.Command{
		Use:   "drain",
		Short: "Let a node hand over its partitions and end",
		Long: `Let a node hand its partitions to the others, one after another with a last seal, so that
nothing is replayed, leave the cluster and end with exit code 0: what SIGTERM does, from
another machine. Alone it commits and publishes what there is. The command waits until the
node has ended. The node must have an admin.token: else whoever reaches it could end it.`,
		Example: "  taximeter node drain --admin http://node-3:8080 --token-file token",
		Args:    arguments("nothing", 0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			life, _, err := at.self(c.Context())
			if err != nil {
				return err
			}
			if _, err := at.do(c.Context(), http.MethodPost, "/drain"); err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(c.Context(), patience)
			defer cancel()
			left := -1
			silent := error(nil) // why the node did not answer last; nil = it did
			for {
				now, self, err := at.self(ctx)
				switch {
				case errors.Is(err, syscall.ECONNREFUSED):
					fmt.Fprintln(c.OutOrStdout(), "the node has ended")
					return nil
				case err == nil && now != life:
					fmt.Fprintln(c.OutOrStdout(), "the node has ended, and was started again")
					return nil
				case err == nil && self.Owned != left:
					left = self.Owned
					fmt.Fprintf(c.OutOrStdout(), "%s is %s and has %d partitions\n", self.ID, self.Duty, left)
				}
				silent = err
				select {
				case <-time.After(drainPoll):
				case <-ctx.Done():
				}
				switch {
				case c.Context().Err() != nil:
					return begun(fmt.Errorf("the node was asked to drain and goes on with it: %w", c.Context().Err()))
				case ctx.Err() == nil:
				case silent != nil:
					return fmt.Errorf("the node was asked to drain and does not answer any more (%w): whether it has ended, cluster status on another node tells", silent)
				default:
					return fmt.Errorf("the node was asked to drain and has not ended within %v; it goes on: see its log, and cluster status on another node", patience)
				}
			}
		},
	}
	at.flags(c)
	c.Flags().DurationVar(&patience, "wait", time.Minute, "how long to wait for the node's end")
	return c
}

// self is what the node says of itself, and which of its lives says it.
func (a *adminAPI) self(ctx context.Context) (life int64, self admin.MemberStatus, err error) {
	body, err := a.ask(ctx, "/cluster")
	if err != nil {
		return 0, self, err
	}
	var st admin.ClusterStatus
	if err := json.Unmarshal(body, &st); err != nil {
		return 0, self, err
	}
	for _, m := range st.Members {
		if m.ID == st.Node {
			return st.Life, m, nil
		}
	}
	return st.Life, admin.MemberStatus{ID: st.Node, Duty: "ending"}, nil
}
