package sinks

import (
	"context"
	"errors"
	"fmt"

	"taximeter/checkpoint"
	"taximeter/schemas"
)

// ErrFenced: another owner, or the broker in its stead, has taken over the right to
// publish. Read the chain before anything else.
var ErrFenced = errors.New("fenced: another owner publishes this partition now")

// Item is one committed outbox on its way.
type Item struct {
	Made   checkpoint.Number // identifies the item for ever
	Outbox schemas.Outbox
	Staged []checkpoint.File // by this sink, for the same cut
}

// Sink is a destination that any node may commit to, such as a table.
type Sink interface {
	// Stage writes what is due for a cut beforehand; nothing of it is visible at the
	// destination yet. place names the seal and nothing else ever; staging again writes the
	// same.
	Stage(ctx context.Context, p schemas.Partition, place string, o *schemas.Outbox) ([]checkpoint.File, error)
	// Commit makes the items that the destination lacks visible in one step, pinned to the
	// state that its own progress was read from, and returns the progress after it.
	Commit(ctx context.Context, p schemas.Partition, items []Item) (made checkpoint.Number, err error)
}

// Due is what a destination lacks that has taken all up to made: the rest of items, which
// ascend by Made.
func Due(items []Item, made checkpoint.Number) ([]Item, error) {
	due := items[len(items):]
	for i := len(items) - 1; i >= 0; i-- {
		if i > 0 && items[i-1].Made >= items[i].Made {
			return nil, fmt.Errorf("outbox %d comes before outbox %d: publishing in this order would lose the smaller", items[i-1].Made, items[i].Made)
		}
		if items[i].Made > made {
			due = items[i:]
		}
	}
	return due, nil
}
