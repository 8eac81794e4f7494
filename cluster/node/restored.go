package node

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"taximeter/actors/partition"
	"taximeter/actors/trip"
	"taximeter/checkpoint"
	"taximeter/schemas"
	"taximeter/sinks/kafkaout"
)

// leftBehind reads back what is public of the line of checkpoints that a restore left
// behind; nil = there is none.
func (t *task) leftBehind(ctx context.Context, e checkpoint.Entry) (*partition.Abandoned, error) {
	a := e.Abandoned
	if a == nil {
		return nil, nil
	}
	// What the line committed is published first: only then do the topics hold all of it.
	if err := t.publishAll(ctx, e.Pending); err != nil {
		return nil, err
	}
	public, err := t.node.voices.Public(ctx, t.partition, a.Since, a.Holds, t.node.registry.SchemaByID)
	if err != nil {
		return nil, err
	}
	t.node.log.Info("a restore left results behind that are public; what is computed again and equals them is not sent again",
		"partition", t.partition, "bills", len(public.Bills), "windows", len(public.Windows), "letters", len(public.Letters))
	return abandoned(a, public), nil
}

// publishAll waits until the runs before are fenced, also when there is nothing to publish: what one of them is just
// sending would become public unseen.
func (t *task) publishAll(ctx context.Context, pending []checkpoint.OutboxRef) error {
	select {
	case <-t.speaker.ResultsOpened():
	case <-t.ctx.Done():
		return cmp.Or(t.why(), t.ctx.Err())
	case <-ctx.Done():
		return fmt.Errorf("fence the publisher of the line that the restore left behind: %w", ctx.Err())
	}
	if len(pending) == 0 {
		return nil
	}
	last := pending[len(pending)-1].Made
	tick := time.NewTicker(beatEvery / 25)
	defer tick.Stop()
	for t.speaker.Published() < last {
		select {
		case <-tick.C:
		case <-t.ctx.Done():
			return t.ctx.Err()
		case <-ctx.Done():
			return fmt.Errorf("outboxes of the line that the restore left behind are published up to %d of %d: %w", t.speaker.Published(), last, ctx.Err())
		}
	}
	return nil
}

// abandoned sorts what was read back by trip.
func abandoned(a *checkpoint.Abandoned, public kafkaout.Public) *partition.Abandoned {
	out := &partition.Abandoned{Trips: make(map[schemas.TripID]*trip.Public), Letters: make(map[partition.LetterID]bool), Next: a.Next, Watermark: a.Watermark}
	of := func(id schemas.TripID) *trip.Public {
		if out.Trips[id] == nil {
			out.Trips[id] = &trip.Public{Windows: make(map[schemas.Millis]schemas.Window)}
		}
		return out.Trips[id]
	}
	for _, b := range public.Bills {
		of(b.TripID).Bills = append(of(b.TripID).Bills, b)
	}
	for _, w := range public.Windows {
		of(w.TripID).Windows[w.Start] = w
	}
	for _, l := range public.Letters {
		out.Letters[partition.LetterID{Topic: l.Topic, Offset: l.Offset}] = true
	}
	return out
}
