package node

import (
	"context"
	"errors"
	"fmt"

	"taximeter/actors/coordinator"
	"taximeter/actors/host"
	"taximeter/checkpoint"
	"taximeter/schemas"
)

// startTasks assigns every partition to this life of the node in one manifest, and starts them.
func (n *Node) startTasks(ctx context.Context) error {
	changes := []checkpoint.Change{checkpoint.Join{Node: checkpoint.NodeID(n.cfg.NodeID)}}
	for p := range n.partitions {
		changes = append(changes, n.startOf(schemas.Partition(p)))
	}
	tip, err := n.assign(ctx, changes)
	if err != nil {
		return err
	}
	const atOnce = 4
	slots := make(chan struct{}, atOnce)
	failed := make(chan error, n.partitions)
	for p := range n.partitions {
		slots <- struct{}{}
		go func() {
			_, err := n.startTask(ctx, schemas.Partition(p), tip.Entries[p])
			failed <- err
			<-slots
		}()
	}
	var errs []error
	for range n.partitions {
		errs = append(errs, <-failed)
	}
	n.mu.Lock()
	n.ready = true
	n.mu.Unlock()
	return errors.Join(errs...)
}

func (n *Node) startOf(p schemas.Partition) checkpoint.Start {
	return checkpoint.Start{Partition: p, Owner: checkpoint.NodeID(n.cfg.NodeID), Incarnation: checkpoint.Incarnation(n.born + n.tokens.Add(1))}
}

func (n *Node) assign(ctx context.Context, changes []checkpoint.Change) (checkpoint.Manifest, error) {
	return ask[checkpoint.Manifest](ctx, n, n.coordinator, &coordinator.Assign{Changes: changes})
}

// restart begins a failed partition anew, until it runs or the node stops.
func (n *Node) restart(t *task) {
	if err := t.stop(); err != nil {
		n.log.Warn("failed run did not end cleanly", "partition", t.partition, "err", err)
	}
	err := n.persist(n.ctx, fmt.Sprintf("restart of partition %d", t.partition), func(ctx context.Context) error {
		ours, err := n.holds(ctx, t.partition)
		if err != nil || !ours {
			return err
		}
		tip, err := n.assign(ctx, []checkpoint.Change{n.startOf(t.partition)})
		if err != nil {
			return err
		}
		_, err = n.startTask(ctx, t.partition, tip.Entries[t.partition])
		return err
	})
	if err != nil {
		n.log.Error("partition stays down", "partition", t.partition, "err", err)
	}
}

// ErrReplaced is a node whose partitions another process took under the same node id.
var ErrReplaced = errors.New("another process runs under this nodeId and has taken the partitions over: this one ends; give each process a nodeId of its own")

// Replaced is closed when the node has found that another process took its place. It then
// does nothing more, and Stop answers ErrReplaced.
func (n *Node) Replaced() <-chan struct{} { return n.replaced }

// holds reports whether the partition's run in the chain is one that this process began.
// Taking it back would only make the two processes revoke each other for ever.
func (n *Node) holds(ctx context.Context, p schemas.Partition) (bool, error) {
	tip, err := checkpoint.NewChain(n.store, n.ns).Tip(ctx)
	if err != nil {
		return false, err
	}
	e, ok := tip.Entry(p)
	if first := checkpoint.Incarnation(n.born); ok && first < e.Incarnation && e.Incarnation <= first+checkpoint.Incarnation(n.tokens.Load()) {
		return true, nil
	}
	n.replace.Do(func() {
		n.log.Error(ErrReplaced.Error())
		close(n.replaced)
	})
	return false, nil
}

// confirm re-reads the chain: the entry if this run is the tip's.
func (n *Node) confirm(ctx context.Context, p schemas.Partition, i checkpoint.Incarnation, epoch checkpoint.Epoch) (checkpoint.Entry, error) {
	tip, err := checkpoint.NewChain(n.store, n.ns).Tip(ctx)
	if err != nil {
		return checkpoint.Entry{}, err
	}
	e, ok := tip.Entry(p)
	if !ok || e.Incarnation != i || e.Epoch != epoch || e.Owner != checkpoint.NodeID(n.cfg.NodeID) {
		return checkpoint.Entry{}, host.ErrRevoked
	}
	return e, nil
}
