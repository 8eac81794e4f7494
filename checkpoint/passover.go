package checkpoint

import (
	"context"
	"errors"
	"fmt"

	"taximeter/schemas"
)

// PassOver lets the chain go on from a tip that is damaged and cannot be brought back: what
// follows must be a Restore. It gives a stand-in for the damaged manifests, which claims at
// least as much as they can have: epochs that revoke every run they can have begun, a line
// that stood at ends (of the input topics, by partition, as of now), and everything that
// Restore looks up in a tip. What they added to the pending outboxes is not known; it is
// computed again, and what of it is public is found on the topics, as after every restore.
//
// No node that knows the damaged tip may be running: it would go on from it, and then the
// commit of what follows is lost to it, which is the better end.
func (c *Chain) PassOver(ctx context.Context, ends []Offsets, now schemas.Millis) (Manifest, error) {
	n, err := c.Newest(ctx)
	if err != nil {
		return Manifest{}, err
	}
	base, damaged, err := c.newestWhole(ctx, n)
	switch {
	case err != nil:
		return Manifest{}, err
	case base.Number == n:
		return Manifest{}, fmt.Errorf("the newest manifest, %d, is not damaged", n)
	case len(ends) != len(base.Entries):
		return Manifest{}, fmt.Errorf("ends of %d partitions, the chain has %d", len(ends), len(base.Entries))
	}
	m := base
	m.Number = n
	m.Lineage += Lineage(damaged) // each may have been a restore, a start, or a checkpoint
	m.Oldest = min(m.Oldest+retireAtOnce*Number(damaged), base.Number)
	m.Entries = make([]Entry, len(base.Entries))
	for p, e := range base.Entries {
		e.Epoch += Epoch(damaged)
		e.Watermark = max(e.Watermark, now) // no event is accepted from the future
		for t := range e.Next {
			e.Next[t] = max(e.Next[t], ends[p][t])
		}
		m.Entries[p] = e
	}
	c.tip, c.stoodIn = m, n
	return m, nil
}

// newestWhole is the newest manifest that can be read, and how many after it cannot.
func (c *Chain) newestWhole(ctx context.Context, tip Number) (m Manifest, damaged int, err error) {
	for n := tip; n > 0; n-- {
		m, err = c.Read(ctx, n)
		var corrupt *CorruptError
		switch {
		case err == nil:
			return m, int(tip - n), nil
		case !errors.As(err, &corrupt):
			return Manifest{}, 0, err
		}
	}
	return Manifest{}, 0, fmt.Errorf("no manifest of %s can be read: %w", c.ns, err)
}
