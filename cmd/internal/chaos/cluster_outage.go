package chaos

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"taximeter/checkpoint"
	"taximeter/schemas"
)

// outage takes Kafka from all nodes for some time. None of them is at fault, so nobody may
// take anything from anybody; and when it is back all must read on.
func (c *clusterRun) outage(ctx context.Context, d time.Duration) error {
	before, err := c.tip(ctx)
	if err != nil {
		return err
	}
	for _, m := range c.fleet.living() {
		m.wire.darken(true)
	}
	pause(ctx, d)
	for _, m := range c.fleet.living() {
		m.wire.darken(false)
	}
	healed := time.Now()
	ends, err := c.ends(ctx)
	if err != nil {
		return err
	}
	flows := make(flow)
	for p := range before.Entries {
		end, _ := ends.Lookup(schemas.TopicTelemetry, int32(p))
		flows[schemas.Partition(p)] = schemas.Offset(end.Offset)
	}
	if err := errors.Join(c.takenOver(ctx, nil, flows), c.fleet.whole(ctx)); err != nil {
		return err
	}
	c.times.Rejoin = append(c.times.Rejoin, time.Since(healed))
	after, err := c.tip(ctx)
	if err != nil {
		return err
	}
	chain := checkpoint.NewChain(c.store, dutyNamespace)
	for n := before.Number + 1; n <= after.Number; n++ {
		m, err := chain.Read(ctx, n)
		if err != nil {
			return err
		}
		if err := unmoved(before, m); err != nil {
			return fmt.Errorf("while Kafka was away for all: %w", err)
		}
	}
	return nil
}

// unmoved tells what a manifest gives to others than an earlier one did.
func unmoved(before, now checkpoint.Manifest) error {
	if !slices.Equal(before.Members, now.Members) {
		return fmt.Errorf("the members %v became %v (manifest %d)", before.Members, now.Members, now.Number)
	}
	for p, e := range now.Entries {
		if was := before.Entries[p]; e.Owner != was.Owner {
			return fmt.Errorf("partition %d went from %s to %s (manifest %d)", p, was.Owner, e.Owner, now.Number)
		}
	}
	return nil
}
