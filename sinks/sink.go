package sinks

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"taximeter/checkpoint"
	"taximeter/schemas"
)

// ErrFenced: another owner, or the broker in its stead, has taken over the right to
// publish. Read the chain before anything else.
var ErrFenced = errors.New("fenced: another owner publishes this partition now")

// ErrMoved: the destination no longer stands where the commit began from, because another
// committer was faster. Read its progress again.
var ErrMoved = errors.New("another committer has moved the destination on")

// Progress is how much of a chain a destination holds.
type Progress struct {
	Made     checkpoint.Number // every outbox with a made up to here is in; 0 = none
	Restores int               // how many of the chain's restores it has followed
}

// Item is one committed outbox of one partition on its way.
type Item struct {
	Partition schemas.Partition
	Made      checkpoint.Number // with the partition it identifies the item for ever
	Outbox    schemas.Outbox
	// Abandoned says that a restore left the line behind that made it: bills and windows in it
	// are public all the same, but the offsets it speaks of are consumed again.
	Abandoned bool
}

// Wants is what outboxes must tell for a sink beside bills, windows and dead letters.
type Wants struct {
	Verdicts bool // of each offset
	Trips    bool // that changed
}

// Sink is a destination that any node may commit to, such as a table. It holds outboxes of
// all partitions, and its own progress, which changes in the same step as what it holds.
type Sink interface {
	// Progress reads how much of the chain the destination holds.
	Progress(ctx context.Context) (Progress, error)
	// Rewind takes back, in one step, what an abandoned line added and is computed again, and
	// counts the restore as followed. ErrMoved if the destination no longer stands at from.
	Rewind(ctx context.Context, from Progress, line checkpoint.Span) error
	// Commit makes items visible in one step with the progress to. They are every outbox of
	// every partition with from.Made < Made <= to.Made, ascending by (Made, Partition).
	// ErrMoved if the destination no longer stands at from. After any other error it is
	// unknown whether the commit happened: only Progress tells.
	Commit(ctx context.Context, from, to Progress, items []Item) error
	Close() error
}

// Configured is a sink that may not be reachable yet.
type Configured struct {
	Name  string // tells sinks apart, in the chain too: it stays the same for ever
	Wants Wants
	// Open reaches the destination. ErrRefused: it cannot be used as it is configured or as it
	// stands, and trying again will not help.
	Open func(ctx context.Context) (Sink, error)
}

// ErrRefused is a destination that cannot be used as it is configured or as it stands.
var ErrRefused = errors.New("refused")

// Ref is one pending outbox of a chain, before it is read.
type Ref struct {
	Partition schemas.Partition
	checkpoint.OutboxRef
	Abandoned bool
}

// Due lists what a destination that stands at from lacks of the chain that tip ends: at
// most limit outboxes (but never half of what one manifest made), ascending by (Made,
// Partition), and the progress after them. A destination that has not followed all
// restores must rewind first.
func Due(tip checkpoint.Manifest, from Progress, limit int) (due []Ref, to Progress, err error) {
	if from.Restores != len(tip.Restores) {
		return nil, from, fmt.Errorf("the destination has followed %d of %d restores", from.Restores, len(tip.Restores))
	}
	if from.Made > tip.Number {
		return nil, from, fmt.Errorf("the destination holds checkpoint %d and the chain ends with %d: it belongs to another chain, or the store was brought back to an earlier day",
			from.Made, tip.Number)
	}
	for p, e := range tip.Entries {
		for _, o := range e.Unpublished(from.Made) {
			due = append(due, Ref{schemas.Partition(p), o, abandoned(tip, o.Made)})
		}
	}
	slices.SortStableFunc(due, func(a, b Ref) int { return int(a.Made - b.Made) })
	to = Progress{Made: tip.Number, Restores: from.Restores}
	for n := max(limit, 1); n < len(due); n++ {
		if due[n].Made != due[n-1].Made {
			due, to.Made = due[:n], due[n-1].Made
		}
	}
	return due, to, nil
}

func abandoned(tip checkpoint.Manifest, made checkpoint.Number) bool {
	return slices.ContainsFunc(tip.Restores, func(s checkpoint.Span) bool { return s.After < made && made <= s.Through })
}
