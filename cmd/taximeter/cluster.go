package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"taximeter/cluster/admin"
	"taximeter/cmd/internal/ui"
)

func newCluster() *cobra.Command {
	return group(&cobra.Command{Use: "cluster", Short: "Look at the cluster"}, newClusterStatus())
}

func newClusterStatus() *cobra.Command {
	var from adminAPI
	var asJSON bool
	c := &cobra.Command{
		Use:     "status",
		Short:   "Show members, placement and moves, as one node sees them",
		Example: "  taximeter cluster status --admin http://node-1:8080",
		Args:    arguments("nothing", 0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			w := c.OutOrStdout()
			body, err := from.ask(c.Context(), "/cluster")
			if err != nil {
				return err
			}
			if asJSON {
				_, err := w.Write(body)
				return err
			}
			var st admin.ClusterStatus
			if err := json.Unmarshal(body, &st); err != nil {
				return fmt.Errorf("%s answers something else than a cluster: %w; use the same version here and there, or --json", from.base, err)
			}
			switch {
			case st.Alone:
				fmt.Fprintf(w, "node %s is alone; manifest %d\n\n", st.Node, st.Manifest)
			case !st.Joined:
				fmt.Fprintf(w, "node %s has not met another node yet; manifest %d\n\n", st.Node, st.Manifest)
			default:
				fmt.Fprintf(w, "as node %s sees it; manifest %d, protocol %d\n\n", st.Node, st.Manifest, st.Protocol)
			}
			if st.Error != "" {
				fmt.Fprintf(w, "it runs nothing, and all below is what it knew before: %s\n\n", st.Error)
			}
			members := ui.Table{Head: []string{"node", "duty", "member", ">partitions", ">weight", "zone", "version", "speaks up to", "admin"}}
			for _, m := range st.Members {
				members.Add(m.ID, m.Duty, strconv.FormatBool(m.Member), strconv.Itoa(m.Owned), strconv.Itoa(m.Weight), m.Zone, m.Version, strconv.Itoa(m.Speaks[1]), m.Admin)
			}
			members.Print(w, "")
			if !st.Alone {
				printStandbys(w, st.Partitions)
			}
			moving := ui.Table{Head: []string{"partition", "owner", "epoch", "moves to"}}
			for _, p := range st.Partitions {
				if p.Target != "" {
					moving.Add(strconv.Itoa(int(p.Partition)), p.Owner, strconv.FormatInt(p.Epoch, 10), p.Target)
				}
			}
			if moving.Len() == 0 {
				fmt.Fprintln(w, "\nevery partition is where it belongs")
				return nil
			}
			fmt.Fprintln(w)
			moving.Print(w, "")
			return nil
		},
	}
	from.flags(c)
	c.Flags().BoolVar(&asJSON, "json", false, "print the answer as the API gives it")
	return c
}

// printStandbys tells which partitions a take-over would find warm.
func printStandbys(w io.Writer, partitions []admin.Placement) {
	newest, cold := 0, 0
	behind := ui.Table{Head: []string{"partition", "standby", ">its checkpoint", ">newest"}}
	for _, p := range partitions {
		if len(p.Standbys) == 0 {
			cold++
		}
		fresh := false
		for _, s := range p.Standbys {
			if fresh = fresh || s.Made == p.Made; s.Made != p.Made {
				behind.Add(strconv.Itoa(int(p.Partition)), s.Node, strconv.FormatInt(s.Made, 10), strconv.FormatInt(p.Made, 10))
			}
		}
		if fresh {
			newest++
		}
	}
	fmt.Fprintf(w, "\n%d of %d partitions have a standby with the newest checkpoint, %d have none\n", newest, len(partitions), cold)
	if behind.Len() > 0 {
		fmt.Fprintln(w)
		behind.Print(w, "")
	}
}
