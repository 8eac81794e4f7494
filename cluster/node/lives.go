package node

import "taximeter/checkpoint"

// lives tells runs of earlier lives of this node from those that another process begins
// under its id. What the chain shows under our id when we first look was begun before us,
// whatever the clocks say; what it shows later, and we did not begin, another did.
type lives struct {
	earlier map[checkpoint.Incarnation]bool // nil = not looked yet
}

// foreign reports whether the tip holds a run of ours that neither this life nor an earlier
// one began.
func (l *lives) foreign(tip checkpoint.Manifest, me checkpoint.NodeID, ours func(checkpoint.Entry) bool) bool {
	first := l.earlier == nil
	if first {
		l.earlier = make(map[checkpoint.Incarnation]bool)
	}
	for _, e := range tip.Entries {
		switch {
		case e.Owner != me || ours(e):
		case first:
			l.earlier[e.Incarnation] = true
		case !l.earlier[e.Incarnation]:
			return true
		}
	}
	return false
}
