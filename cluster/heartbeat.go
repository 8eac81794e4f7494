package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"taximeter/checkpoint"
	"taximeter/schemas"
)

const (
	// HeartbeatEvery is how often a node puts its heartbeat.
	HeartbeatEvery = 2 * time.Second
	// HeartbeatPatience is how long a heartbeat must stand still before a minority may take
	// over: longer than any pause of a healthy node's object store.
	HeartbeatPatience = 15 * time.Second
)

// Heartbeat is what a node's object in the store holds. That it changes says that the node
// lives; no run or seal is decided by the rest: it helps to choose who takes over and when a
// move begins, tells an operator what waits, and keeps replays away from live nodes. A version
// that knows less of it reads what it knows.
type Heartbeat struct {
	Life    int64     `json:"life"`
	Beat    int64     `json:"beat"`
	Replay  bool      `json:"replay,omitempty"` // the node's mode
	Copies  Copies    `json:"copies,omitempty"`
	Stopped []Stopped `json:"stopped,omitempty"`
}

// Stopped is an input that stands still until an operator decides.
type Stopped struct {
	Partition schemas.Partition `json:"partition"`
	Topic     schemas.Topic     `json:"topic"`
	Next      schemas.Offset    `json:"next"` // all before it was fetched, and will be read
}

// PutHeartbeat writes a node's heartbeat.
func PutHeartbeat(ctx context.Context, st checkpoint.Store, ns checkpoint.Namespace, id checkpoint.NodeID, h Heartbeat) error {
	content, err := json.Marshal(h)
	if err != nil {
		return err
	}
	return st.Put(ctx, ns.Node(id), bytes.NewReader(content))
}

// ReadHeartbeat gives the object as it is, and what it says.
func ReadHeartbeat(ctx context.Context, st checkpoint.Store, ns checkpoint.Namespace, id checkpoint.NodeID) (mark string, h Heartbeat, err error) {
	content, err := checkpoint.ReadAll(ctx, st, ns.Node(id))
	if err != nil {
		return "", Heartbeat{}, fmt.Errorf("heartbeat of %s: %w", id, err)
	}
	if err := json.Unmarshal(content, &h); err != nil {
		return string(content), Heartbeat{}, nil //nolint:nilerr // an earlier version's, which tells no more
	}
	return string(content), h, nil
}
