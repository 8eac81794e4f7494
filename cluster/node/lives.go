package node

import (
	"context"

	"taximeter/checkpoint"
)

// lives tells runs of earlier lives of this node from those that another process begins
// under its id. What the chain shows under our id when we first look was begun before us,
// whatever the clocks say; what it shows later, and we did not begin, another did. Unless
// another node gave it to a life of ours that is over: it had not heard of this one yet.
type lives struct {
	known map[checkpoint.Incarnation]bool // to be no other process's; nil = not looked yet
}

// foreign reports whether the tip holds a run of ours that another process began. begunBy
// tells which node's manifest gave a partition to its present run.
func (l *lives) foreign(tip checkpoint.Manifest, me checkpoint.NodeID, ours func(checkpoint.Entry) bool, begunBy func(p int) (checkpoint.NodeID, error)) (bool, error) {
	first := l.known == nil
	if first {
		l.known = make(map[checkpoint.Incarnation]bool)
	}
	for p, e := range tip.Entries {
		if e.Owner != me || ours(e) || l.known[e.Incarnation] {
			continue
		}
		if !first {
			by, err := begunBy(p)
			if err != nil {
				return false, err
			}
			if by == me {
				return true, nil
			}
		}
		l.known[e.Incarnation] = true
	}
	return false, nil
}

// begunBy walks back to the manifest that began the partition's run. Beyond what is retained
// nobody can have missed a change of lives.
func (c *crew) begunBy(ctx context.Context, tip checkpoint.Manifest, p int) (by checkpoint.NodeID, err error) {
	for n := tip.Number; n >= tip.Oldest; n-- {
		m, err := c.chain.Read(ctx, n)
		if err != nil {
			return "", err
		}
		if p >= len(m.Entries) || m.Entries[p].Epoch != tip.Entries[p].Epoch {
			return by, nil
		}
		by = m.CreatedBy
	}
	return by, nil
}
