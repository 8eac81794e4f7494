package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"taximeter/actors/trip"
	"taximeter/cluster/admin"
	"taximeter/cluster/grain"
	"taximeter/schemas"
)

// Kinds of questions between nodes, and the words of their refusals.
const (
	askTrip    = "trip"
	askExplain = "explain"

	refuseNoTrip = "no_trip"
	refuseMoving = "moving"
)

// anywhere is the node as people ask it: a question about a trip goes to the node that owns
// its partition, through whatever node it came in.
type anywhere struct{ *Node }

// Trip asks the trip's owner, wherever it is.
func (n anywhere) Trip(ctx context.Context, id schemas.TripID) (admin.TripAnswer, error) {
	return elsewhere(ctx, n.Node, askTrip, id, n.Node.Trip)
}

// Explain asks the trip's owner, wherever it is.
func (n anywhere) Explain(ctx context.Context, id schemas.TripID) (trip.Explanation, error) {
	return elsewhere(ctx, n.Node, askExplain, id, n.Node.Explain)
}

// elsewhere answers here if the partition runs here, else asks its owner.
func elsewhere[T any](ctx context.Context, n *Node, kind string, id schemas.TripID, here func(context.Context, schemas.TripID) (T, error)) (T, error) {
	answer, err := here(ctx, id)
	tip := n.tip.Load()
	if !errors.Is(err, admin.ErrMoving) || n.peers == nil || tip == nil {
		return answer, err
	}
	e, ok := tip.Entry(schemas.PartitionOf([]byte(id), n.partitions))
	if !ok || e.Owner == "" || e.Owner == n.id() {
		return answer, err
	}
	owner, ok := n.crew.view().Member(e.Owner)
	if !ok {
		return answer, fmt.Errorf("%w (its owner, node %s, cannot be reached)", admin.ErrMoving, e.Owner)
	}
	body, err := n.peers.Ask(ctx, owner.Remote, kind, []byte(id))
	if refusal, ok := errors.AsType[*grain.Refusal](err); ok {
		switch refusal.Word {
		case refuseNoTrip:
			return answer, admin.ErrNoTrip
		case refuseMoving:
			return answer, admin.ErrMoving
		}
	}
	switch {
	case errors.Is(err, grain.ErrUnreachable):
		return answer, fmt.Errorf("%w (its owner, node %s, cannot be reached at %s)", admin.ErrMoving, owner.ID, owner.Remote)
	case err != nil:
		return answer, fmt.Errorf("ask node %s: %w", owner.ID, err)
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return answer, fmt.Errorf("answer of node %s (version %s): %w", owner.ID, owner.Version, err)
	}
	return answer, nil
}

// answer serves the other nodes' questions: only about what runs here.
func (n *Node) answer(ctx context.Context, kind string, payload []byte) ([]byte, error) {
	id := schemas.TripID(payload)
	switch kind {
	case askTrip:
		return told(n.Trip(ctx, id))
	case askExplain:
		return told(n.Explain(ctx, id))
	}
	return nil, grain.ErrUnknownKind
}

func told(v any, err error) ([]byte, error) {
	switch {
	case errors.Is(err, admin.ErrNoTrip):
		return nil, &grain.Refusal{Word: refuseNoTrip, Text: err.Error()}
	case errors.Is(err, admin.ErrMoving):
		return nil, &grain.Refusal{Word: refuseMoving, Text: err.Error()}
	case err != nil:
		return nil, err
	}
	return json.Marshal(v)
}

// closeRemote ends the questions in both directions.
func (n *Node) closeRemote() {
	if n.remote != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		n.remote.Close(ctx)
		cancel()
	}
	if n.peers != nil {
		if err := n.peers.Close(); err != nil {
			n.log.Warn("connections to other nodes did not end cleanly", "err", err)
		}
	}
}
