package chaos

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"taximeter/checkpoint"
	"taximeter/cluster/admin"
)

// upgrade replaces the nodes of the version before one after another. While one of them is
// left the namespace speaks its protocol; then it speaks the newest, and none of the version
// before may come back, if it does not speak that.
func (c *clusterRun) upgrade(ctx context.Context) error {
	const patience = 30 * time.Second
	f := c.fleet
	all := f.nodes[:c.cs.Nodes]
	last := all[len(all)-1]
	before, err := c.speaks(ctx, last)
	if err != nil {
		return err
	}
	if f.o.From == "" && before != f.o.held() {
		return fmt.Errorf("nodes held at protocol %d speak %d", f.o.held(), before)
	}
	for i, m := range all {
		speaks, err := c.speaks(ctx, last)
		if err != nil {
			return fmt.Errorf("with %d of %d nodes upgraded: %w", i, len(all), err)
		}
		if speaks != before {
			return fmt.Errorf("with %d of %d nodes upgraded the namespace speaks protocol %d, and %d before", i, len(all), speaks, before)
		}
		m.old = false
		if err := c.leave(ctx, m, 0); err != nil {
			return err
		}
	}
	err = until(ctx, patience, func() bool {
		speaks, err := c.speaks(ctx, all[0])
		return err == nil && speaks == checkpoint.NewestProtocol
	})
	if err != nil {
		return fmt.Errorf("all nodes are upgraded and the namespace does not speak protocol %d, only %d as before: %w", checkpoint.NewestProtocol, before, err)
	}
	if before == checkpoint.NewestProtocol {
		return f.whole(ctx)
	}
	late, err := f.add(c.cs.Seed)
	if err != nil {
		return err
	}
	late.old = true
	if err := f.start(late, life{}); err != nil {
		return err
	}
	if err := late.process.end(ctx, patience); err != nil {
		return fmt.Errorf("a node of the version before was let in: %w", err)
	}
	if words := late.process.words(); !strings.Contains(words, "upgrade") {
		return fmt.Errorf("a node of the version before is refused without saying why: %s", tail(words))
	}
	late.old = false
	if err := f.bury(late); err != nil {
		return err
	}
	return f.whole(ctx)
}

// speaks asks what the namespace speaks. A version that does not tell speaks the first.
func (c *clusterRun) speaks(ctx context.Context, m *member) (checkpoint.Protocol, error) {
	st, err := ask[admin.ClusterStatus](ctx, c.fleet, m, "/cluster")
	return max(checkpoint.Protocol(st.Protocol), checkpoint.Protocol1), err
}

// apart waits until every partition has a standby in another zone than its owner's.
func (c *clusterRun) apart(ctx context.Context) error {
	const patience = 30 * time.Second
	if len(c.cs.Zones) == 0 {
		return nil
	}
	why := ""
	err := until(ctx, patience, func() bool {
		st, err := ask[admin.ClusterStatus](ctx, c.fleet, c.fleet.nodes[0], "/cluster")
		if err != nil {
			why = err.Error()
			return false
		}
		zone := make(map[string]string)
		for _, m := range st.Members {
			zone[m.ID] = m.Zone
		}
		for _, p := range st.Partitions {
			if !slices.ContainsFunc(p.Standbys, func(s admin.Standby) bool { return zone[s.Node] != zone[p.Owner] }) {
				why = fmt.Sprintf("partition %d of %s (zone %s) has standbys %v", p.Partition, p.Owner, zone[p.Owner], p.Standbys)
				return false
			}
		}
		return true
	})
	if err != nil {
		return fmt.Errorf("no standby in another zone after %s: %s", patience, why)
	}
	return nil
}
