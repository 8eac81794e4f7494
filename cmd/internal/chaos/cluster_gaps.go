package chaos

import (
	"context"
	"time"

	"taximeter/cluster/admin"
	"taximeter/schemas"
)

// gaps watches how steadily partitions are read that do not move.
type gaps struct {
	seen   map[schemas.Partition]glimpse
	others []time.Duration
}

// glimpse is a partition as it was last seen to have read on.
type glimpse struct {
	epoch int64
	next  [schemas.NumInputs]schemas.Offset
	at    time.Time
}

// gapsEvery is how often it looks: a pause is known as exactly as that.
const gapsEvery = 50 * time.Millisecond

// observe watches alerts until ctx ends, and pauses from when the cluster is whole.
func (c *clusterRun) observe(ctx context.Context) <-chan error {
	ended := make(chan error, 1)
	c.gaps = &gaps{seen: make(map[schemas.Partition]glimpse)}
	watching := make(chan error, 1)
	if c.watch != nil {
		c.feeding.sent = c.watch.sent
		go func() { watching <- c.watch.run(ctx, c.world) }()
	} else {
		watching <- nil
	}
	go func() {
		select {
		case <-c.settled:
		case <-ctx.Done():
		}
		for pause(ctx, gapsEvery) {
			for _, m := range *c.fleet.roster.Load() {
				if m.away.Load() {
					continue
				}
				if partitions, err := ask[[]admin.PartitionStatus](ctx, c.fleet, m, "/partitions"); err == nil {
					c.gaps.look(partitions, time.Now())
				}
			}
		}
		ended <- <-watching
	}()
	return ended
}

// look takes in what one node says. A partition that moved in between begins anew.
func (g *gaps) look(partitions []admin.PartitionStatus, now time.Time) {
	for _, p := range partitions {
		was, known := g.seen[p.Partition]
		if p.State != "running" || known && (p.Epoch < was.epoch || p.NextOffset == was.next) {
			continue
		}
		if known && p.Epoch == was.epoch {
			g.others = append(g.others, now.Sub(was.at))
		}
		g.seen[p.Partition] = glimpse{p.Epoch, p.NextOffset, now}
	}
}
