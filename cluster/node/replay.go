package node

import (
	"context"
	"fmt"
	"time"

	"taximeter/actors/ingest"
	"taximeter/checkpoint"
	"taximeter/schemas"
)

// Done waits until a replay's input is consumed, committed and published, by this node or
// by others of its cluster.
func (n *Node) Done(ctx context.Context) error {
	for {
		if n.consumed() {
			if err := n.settle(ctx); err != nil {
				return err
			}
			if finished(n.tip.Load(), n.ends) {
				return nil
			}
		}
		select {
		case <-time.After(beatEvery / 5):
		case <-n.replaced:
			return ErrReplaced
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// consumed reports whether all that runs here has reached the end of time.
func (n *Node) consumed() bool {
	for _, t := range n.runs() {
		if s := t.stats.Load(); s == nil || !s.Done || s.Alerts > 0 || t.failure.Load() != nil {
			return false
		}
	}
	return true
}

// finished reports whether the chain shows every partition past the ends of this replay, at
// the end of time, and nothing left to publish. An earlier replay may have ended time
// before some of the input was there.
func finished(tip *checkpoint.Manifest, ends ingest.Offsets) bool {
	if tip == nil {
		return false
	}
	for p, e := range tip.Entries {
		for topic, end := range ends[schemas.Partition(p)] {
			if e.Next[topic] < end {
				return false
			}
		}
		if e.Watermark != schemas.EndOfTime || len(e.Pending) > 0 || len(e.Alerts.Unsent) > 0 {
			return false
		}
	}
	return true
}

// settle commits all there is and waits until it is published.
func (n *Node) settle(ctx context.Context) error {
	for {
		out, err := n.Checkpoint(ctx)
		if err == nil && len(out.Absent) > 0 {
			err = fmt.Errorf("partitions %v could not be sealed", out.Absent)
		}
		if err == nil {
			err = n.published(ctx, out.Tip)
		}
		if err == nil {
			return nil
		}
		select {
		case <-time.After(beatEvery / 5):
		case <-n.replaced:
			return ErrReplaced
		case <-ctx.Done():
			return fmt.Errorf("not everything is committed and published; it will be at the next start: %w: %w", ctx.Err(), err)
		}
	}
}

// published waits until what the tip has pending of this node's runs is public on Kafka, for
// as long as a round may take.
func (n *Node) published(ctx context.Context, tip checkpoint.Manifest) error {
	ctx, cancel := context.WithTimeout(ctx, n.cfg.Checkpoint.Deadline)
	defer cancel()
	for {
		behind := 0
		for _, t := range n.runs() {
			behind += len(tip.Entries[t.partition].Unpublished(t.speaker.Published()))
		}
		if behind == 0 {
			return nil
		}
		select {
		case <-time.After(beatEvery / 25):
		case <-ctx.Done():
			return fmt.Errorf("%d outboxes are not published", behind)
		}
	}
}
