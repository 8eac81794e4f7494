package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	"taximeter/checkpoint"
	"taximeter/cluster"
)

// meetsNoOtherMode makes sure that no member whose heart beats is in the other mode: a replay would
// take its partitions and end event time in them, and no live node can go on from there.
func (n *Node) meetsNoOtherMode(ctx context.Context, members []checkpoint.NodeID) error {
	replay := n.o.Mode == Replay
	marks := make(map[checkpoint.NodeID]string)
	for began := time.Now(); ; {
		for _, id := range members {
			mark, said, err := cluster.ReadHeartbeat(ctx, n.store, n.ns, id)
			patience := cluster.HeartbeatPatience
			if id == n.id() { // mostly our own, of a life that was killed; another process of our name is found out in any case
				patience = 2 * cluster.HeartbeatEvery
			}
			if errors.Is(err, checkpoint.ErrNotFound) || err == nil && said.Replay == replay || time.Since(began) > patience {
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
		if len(marks) == 0 {
			return nil
		}
		select {
		case <-time.After(cluster.HeartbeatEvery / 4):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
