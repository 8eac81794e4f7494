package node

import (
	"context"
	"errors"
	"time"

	"taximeter/actors/coordinator"
	"taximeter/actors/host"
	"taximeter/checkpoint"
	"taximeter/schemas"
)

// assign commits what was decided on the tip seen.
func (n *Node) assign(ctx context.Context, seen checkpoint.Manifest, changes []checkpoint.Change) (checkpoint.Manifest, error) {
	return ask[checkpoint.Manifest](ctx, n, n.coordinator, &coordinator.Assign{Seen: seen, Changes: changes})
}

// ErrReplaced is a node whose partitions another process took under the same node id.
var ErrReplaced = errors.New("another process runs under this nodeId and has taken the partitions over: this one ends; give each process a nodeId of its own")

// Replaced is closed when the node has found that another process took its place. It then
// does nothing more, and Stop answers ErrReplaced.
func (n *Node) Replaced() <-chan struct{} { return n.replaced }

// giveWay ends the node's work: taking the partitions back would only make the two
// processes revoke each other for ever.
func (n *Node) giveWay() {
	n.replace.Do(func() {
		n.log.Error(ErrReplaced.Error())
		close(n.replaced)
	})
}

// woke hears that this process stood still: others may have taken what it runs. What it
// still tries to write is refused, by the chain and by the broker; it looks now, so that
// it does not go on for nothing.
func (n *Node) woke(time.Duration) {
	if n.crew != nil {
		n.crew.poke()
	}
}

func (n *Node) gaveWay() bool {
	select {
	case <-n.replaced:
		return true
	default:
		return false
	}
}

// confirm re-reads the chain, from the newest manifest that this node knows: the entry if this run
// is the tip's. Every start waits for it.
func (n *Node) confirm(ctx context.Context, p schemas.Partition, i checkpoint.Incarnation, epoch checkpoint.Epoch) (checkpoint.Entry, error) {
	var chain *checkpoint.Chain
	select {
	case chain = <-n.confirms:
	default:
		chain = checkpoint.NewChain(n.store, n.ns)
	}
	defer func() {
		select {
		case n.confirms <- chain:
		default: // there are enough
		}
	}()
	if seen := n.tip.Load(); seen != nil {
		chain.From(*seen)
	}
	tip, err := chain.Tip(ctx)
	if err != nil {
		return checkpoint.Entry{}, err
	}
	e, ok := tip.Entry(p)
	if !ok || e.Incarnation != i || e.Epoch != epoch || e.Owner != n.id() {
		return checkpoint.Entry{}, host.ErrRevoked
	}
	return e, nil
}
