package gossip

import (
	"context"
	"time"
)

// watch reports each time that the process stood still for limit or longer: stopped,
// swapped out, starved, or its machine suspended. It ends with ctx.
func watch(ctx context.Context, limit time.Duration, report func(late time.Duration)) {
	tick := time.NewTicker(limit / 4)
	defer tick.Stop()
	last := time.Now()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		now := time.Now()
		if late := stood(last, now) - limit/4; late >= limit {
			report(late)
		}
		last = now
	}
}

// stood is the longer of what both clocks say: the monotonic one stops while the machine is
// suspended, the other may be set back. One set forward only makes us look at the chain.
func stood(from, to time.Time) time.Duration {
	return max(to.Sub(from), to.Round(0).Sub(from.Round(0)))
}
