package node

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"taximeter/checkpoint"
	"taximeter/cluster"
)

// heartbeat is what a node's object in the store holds. That it changes says that the node
// lives; the rest only helps to choose who takes over and when a move begins. A version that
// knows less of it reads what it knows.
type heartbeat struct {
	Life   int64          `json:"life"`
	Beat   int64          `json:"beat"`
	Copies cluster.Copies `json:"copies,omitempty"`
}

func (n *Node) putHeartbeat(ctx context.Context, beat int64, copies cluster.Copies) error {
	content, err := json.Marshal(heartbeat{Life: n.born, Beat: beat, Copies: copies})
	if err != nil {
		return err
	}
	return n.store.Put(ctx, n.ns.Node(n.id()), bytes.NewReader(content))
}

// readHeartbeat gives the object as it is, and what it says of copies.
func (n *Node) readHeartbeat(ctx context.Context, id checkpoint.NodeID) (mark string, held cluster.Copies, err error) {
	content, err := checkpoint.ReadAll(ctx, n.store, n.ns.Node(id))
	if err != nil {
		return "", nil, fmt.Errorf("heartbeat of %s: %w", id, err)
	}
	var h heartbeat
	if err := json.Unmarshal(content, &h); err != nil {
		return string(content), nil, nil //nolint:nilerr // an earlier version's, which keeps no copies
	}
	return string(content), h.Copies, nil
}
