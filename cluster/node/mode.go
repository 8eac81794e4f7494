package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	"taximeter/checkpoint"
	"taximeter/cluster"
)

// beatSeen is in how long a heart that beats is seen to.
const beatSeen = 2 * cluster.HeartbeatEvery

// meetsNoOtherMode makes sure that no member whose heart beats is in the other mode: a replay would
// take its partitions and end event time in them, and no live node can go on from there.
func (n *Node) meetsNoOtherMode(ctx context.Context, members []checkpoint.NodeID) error {
	replay := n.o.Mode == Replay
	marks := make(map[checkpoint.NodeID]string)
	for deadline := time.Now().Add(beatSeen); ; {
		for _, id := range members {
			mark, said, err := cluster.ReadHeartbeat(ctx, n.store, n.ns, id)
			if errors.Is(err, checkpoint.ErrNotFound) || err == nil && said.Replay == replay {
				delete(marks, id)
				continue
			}
			if err != nil {
				return err
			}
			if before, ok := marks[id]; ok && before != mark {
				if replay {
					return fmt.Errorf("node %s runs namespace %q live: a replay would take its partitions and end event time in them; stop the live nodes first, or replay under another namespace", id, n.ns)
				}
				return fmt.Errorf("node %s replays namespace %q: wait until it has ended, or stop it", id, n.ns)
			}
			marks[id] = mark
		}
		if len(marks) == 0 || time.Now().After(deadline) {
			return nil
		}
		select {
		case <-time.After(cluster.HeartbeatEvery / 4):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
