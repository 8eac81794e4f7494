package node

import (
	"log/slog"
	"time"

	"taximeter/checkpoint"
)

// lonely tells people of a node that does nothing, because it has met nobody: the others
// may be down, or it may look for them in the wrong place. It cannot know that they are dead.
type lonely struct {
	since time.Time // zero = it has met others
	told  time.Time
}

const (
	// lonelyAfter is longer than a join takes.
	lonelyAfter = 5 * time.Second
	lonelyEvery = time.Minute
)

func (l *lonely) tell(log *slog.Logger, alone bool, members []checkpoint.NodeID) {
	now := time.Now()
	switch {
	case !alone:
		*l = lonely{}
	case l.since.IsZero():
		l.since = now
	case now.Sub(l.since) > lonelyAfter && now.Sub(l.told) > lonelyEvery:
		l.told = now
		log.Warn("this node runs nothing: it has met none of the cluster's members; start one of them, or mend cluster.seeds; if all of them are gone for good, start this node with cluster.bootstrap",
			"members", members, "waits", now.Sub(l.since).Round(time.Second))
	}
}
