package node

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"taximeter/actors/host"
	"taximeter/actors/partition"
	"taximeter/checkpoint"
	"taximeter/checkpoint/pebblestore"
	"taximeter/schemas"
)

// sealedOutbox is what a seal of this run wrote, under the name of its content's hash.
type sealedOutbox struct {
	key     string
	content schemas.Outbox
}

// cut asks the owner for one. anyway is asked if nothing has happened since the last one.
func (t *task) cut(ctx context.Context, tip checkpoint.Manifest, number checkpoint.SealNumber, anyway func() bool) (host.Cut, error) {
	type answer struct {
		cut host.Cut
		err error
	}
	over, err := t.node.turns.Take(ctx)
	if err != nil {
		return host.Cut{}, err
	}
	defer over()
	answered := make(chan answer, 1)
	t.node.system.Root.Send(t.owner, &host.SealRequest{Number: number, Tell: tell(tip), Layout: layout(tip), Anyway: anyway, Last: t.quiesced.Load(),
		Done: func(c host.Cut, err error) { answered <- answer{c, err} }})
	select {
	case a := <-answered:
		return a.cut, a.err
	case <-t.ctx.Done():
		return host.Cut{}, t.ctx.Err()
	case <-ctx.Done():
		return host.Cut{}, ctx.Err()
	}
}

// layout is how rows may lie, so that every node which may own a partition can read them.
func layout(tip checkpoint.Manifest) partition.Layout {
	if tip.Speaks() < checkpoint.Protocol3 {
		return partition.ByID
	}
	return partition.ByAge
}

// discard ends a cut's snapshot.
func (t *task) discard(c host.Cut) {
	if err := c.Snapshot.(*pebblestore.Snapshot).Remove(); err != nil {
		t.node.log.Warn("snapshot folder stays behind until the next start", "err", err)
	}
}

// rewritten reports whether compactions have left so much outside of the entry that a move would
// wait for it (see warm): nothing else may ever happen in a partition without traffic.
func (t *task) rewritten(e checkpoint.Entry) bool {
	unsealed, err := t.store.Unsealed(e.Files)
	return err == nil && unsealed > coldBytes && !t.store.Compacting()
}

// Spill cuts and keeps nothing but what the local store now holds.
func (t *task) Spill(ctx context.Context, tip checkpoint.Manifest, number checkpoint.SealNumber) error {
	cut, err := t.cut(ctx, tip, number, nil)
	if err == nil && !cut.Unchanged {
		t.discard(cut)
	}
	return err
}

// Seal cuts, uploads and offers.
func (t *task) Seal(ctx context.Context, tip checkpoint.Manifest, last checkpoint.SealNumber) (*checkpoint.Seal, error) {
	seal := checkpoint.NewSeal(tip, t.partition, last)
	base := tip.Entries[t.partition]
	cut, err := t.cut(ctx, tip, seal.Number, func() bool { return t.rewritten(base) })
	if err != nil {
		return nil, err
	}
	if cut.Unchanged {
		return nil, nil
	}
	defer t.discard(cut)
	place := seal.Place()
	var writing sync.WaitGroup // beside the files: a move stands still for both
	var unwritten error
	writing.Go(func() { seal.Outbox.File, unwritten = t.writeOutbox(ctx, place, cut.Outbox, tip.Speaks()) })
	up, err := cut.Snapshot.(*pebblestore.Snapshot).Upload(ctx, t.node.store, t.node.ns, place, base.Files)
	writing.Wait()
	if err := errors.Join(err, unwritten); err != nil {
		return nil, err
	}
	seal.Next, seal.Watermark, seal.Files = checkpoint.Offsets(cut.Next), cut.Watermark, up.Files
	seal.Alerts = checkpoint.Alerts{Unsent: cut.Unsent, Seen: cut.Seen, LogNext: cut.LogNext}
	seal.Published = t.Published()
	seal.Reached = cut.Reached && base.Abandoned != nil
	if err := checkpoint.Offer(ctx, t.node.store, seal); err != nil {
		return nil, err
	}
	return &seal, nil
}

// writeOutbox gives the zero file for an empty one.
func (t *task) writeOutbox(ctx context.Context, place checkpoint.Place, o schemas.Outbox, protocol checkpoint.Protocol) (checkpoint.File, error) {
	if o.Empty() {
		return checkpoint.File{}, nil
	}
	file, err := checkpoint.WriteFile(ctx, t.node.store, checkpoint.EncodeOutbox(o, protocol), func(sum string) string { return t.node.ns.Outbox(place, sum) })
	if err != nil {
		return checkpoint.File{}, fmt.Errorf("outbox of partition %d: %w", t.partition, err)
	}
	t.outbox.Store(&sealedOutbox{file.Key, o})
	return file, nil
}
