package iceberg

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"taximeter/checkpoint"
	"taximeter/sinks"
)

var _ sinks.Sink = (*Lake)(nil)

// Progress is that of TableVerdicts, which is committed last.
func (l *Lake) Progress(ctx context.Context) (sinks.Progress, error) {
	ctx = l.reaching(ctx)
	t, err := l.load(ctx, &l.verdicts.shape)
	if err != nil {
		return sinks.Progress{}, err
	}
	return progressOf(t)
}

// Commit adds what the items hold, table by table.
//
// A table may stand further than from: then a committer has crashed, or is at work, between
// it and TableVerdicts. It holds everything up to where it stands, so it takes only what is
// newer, and nothing at all if nothing newer is its own. Since what a table takes depends
// only on where it stands and on the chain, two committers can differ in how far they go,
// never in what lies below.
func (l *Lake) Commit(ctx context.Context, from, to sinks.Progress, items []sinks.Item) error {
	ctx = l.reaching(ctx)
	if len(items) == 0 {
		return nil // nothing to show: no snapshot, and the progress follows with the next row
	}
	if l.source == nil {
		return errors.New("the lake was opened without a source: it cannot be committed to")
	}
	g := gathering{lake: l, from: from, to: to}
	err := g.gather(ctx, items)
	if err == nil {
		err = g.commit(ctx)
	}
	if err != nil && !g.attempted {
		g.discard()
	}
	return err
}

// Rewind takes back the rows of an abandoned line, by the number of the manifest that made
// them: that is in every row, so neither compaction nor the expiry of snapshots matters.
// Bills and windows stay: they are public.
//
// Also a table without such rows gets a snapshot: a commit of the abandoned line that is
// still under way must find the table moved on.
func (l *Lake) Rewind(ctx context.Context, from sinks.Progress, line checkpoint.Span) error {
	ctx = l.reaching(ctx)
	for _, s := range l.takenBack() {
		t, err := l.load(ctx, s)
		if err != nil {
			return err
		}
		base, err := progressOf(t)
		switch {
		case err != nil:
			return err
		case base.Restores == from.Restores+1 && s != &l.verdicts.shape:
			continue // a committer crashed, or is at work, on the way to TableVerdicts
		case base.Restores != from.Restores || s == &l.verdicts.shape && base != from:
			return fmt.Errorf("table %s has followed %d restores, not %d: %w", s.name, base.Restores, from.Restores, sinks.ErrMoved)
		}
		st := step{of: s, base: base, to: sinks.Progress{Made: base.Made, Restores: base.Restores + 1}}
		st.stage = func(ctx context.Context, txn *table.Transaction, summary iceberg.Properties) error {
			return txn.Delete(ctx, madeWithin(line), summary)
		}
		if s == &l.verdicts.shape {
			if st.extra, err = l.offsetsBefore(ctx, t, line.After); err != nil {
				return err
			}
		}
		if err := l.commit(ctx, st); err != nil {
			return err
		}
	}
	l.log.Info("the lake has followed a restore", "after", line.After, "through", line.Through)
	return nil
}

// madeWithin is rows of the manifests (After, Through].
func madeWithin(line checkpoint.Span) iceberg.BooleanExpression {
	made := iceberg.Reference(columnCheckpoint)
	return iceberg.NewAnd(iceberg.GreaterThan(made, int64(line.After)), iceberg.LessThanEqual(made, int64(line.Through)))
}
