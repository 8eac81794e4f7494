package iceberg

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"taximeter/sinks"
)

var zeroProgress sinks.Progress

const (
	commitAttempts = 8 // against compactions, which hold a table for one commit
	firstPause     = 50 * time.Millisecond
	lastPause      = 2 * time.Second
)

// step is one change of one table: what moves its progress from base to to, together with
// what is staged.
type step struct {
	of       *shape
	base, to sinks.Progress
	extra    iceberg.Properties // further properties of the table, that change with it
	stage    func(ctx context.Context, txn *table.Transaction, summary iceberg.Properties) error
}

// commit takes the step exactly once, or not at all: ErrMoved if the table stands elsewhere.
//
// The progress is read from the table that the transaction begins with, and the transaction
// is pinned to that table's newest snapshot: whoever commits in between, another committer
// or a late request of a dead one, makes it fail. Without the pin two that both saw "not
// yet" would both succeed. Every step makes a snapshot, if need be an empty one, because
// only a snapshot moves what the next one is pinned to.
//
// Any error leaves it open whether the catalog took the commit; so after each the table is
// read again, and its progress decides.
func (l *Lake) commit(ctx context.Context, s step) error {
	props := progressProperties(l.namespace, s.to)
	var last error
	for attempt := range commitAttempts {
		if attempt > 0 {
			if err := pause(ctx, attempt); err != nil {
				return fmt.Errorf("commit to table %s: %w, after %w", s.of.name, err, last)
			}
		}
		t, err := l.load(ctx, s.of)
		if err != nil {
			last = err
			continue
		}
		have, err := progressOf(t)
		switch {
		case err != nil:
			return err
		case have == s.to:
			return nil // ours, whose answer was lost, or another's with the same rows
		case have != s.base:
			return fmt.Errorf("table %s stands at checkpoint %d after %d restores, not at %d after %d: %w",
				s.of.name, have.Made, have.Restores, s.base.Made, s.base.Restores, sinks.ErrMoved)
		}
		if last = l.attempt(ctx, t, s, props); last == nil {
			return nil
		}
		l.log.Debug("a commit to the lake is tried again", "table", s.of.name, "err", last)
	}
	return fmt.Errorf("commit to table %s: %w", s.of.name, last)
}

func (l *Lake) attempt(ctx context.Context, t *table.Table, s step, progress iceberg.Properties) error {
	txn, err := t.NewTransactionOnBranchWithError(table.MainBranch)
	if err != nil {
		return err
	}
	if err := txn.AssertRefSnapshotID(table.MainBranch); err != nil {
		return err
	}
	props := maps.Clone(progress)
	maps.Copy(props, s.extra)
	if err := txn.SetProperties(props); err != nil {
		return err
	}
	if err := s.stage(ctx, txn, maps.Clone(progress)); err != nil {
		return err
	}
	_, err = txn.Commit(ctx)
	return err
}

// retry commits what change makes of the newest table, again if another was faster; a nil
// transaction means that there is nothing to do.
func (l *Lake) retry(ctx context.Context, of *shape, change func(*table.Table) (*table.Transaction, error)) error {
	var last error
	for attempt := range commitAttempts {
		if attempt > 0 {
			if err := pause(ctx, attempt); err != nil {
				return fmt.Errorf("table %s: %w, after %w", of.name, err, last)
			}
		}
		t, err := l.load(ctx, of)
		if err != nil {
			last = err
			continue
		}
		txn, err := change(t)
		if err != nil || txn == nil {
			return err
		}
		if _, last = txn.Commit(ctx); last == nil {
			return nil
		}
	}
	return fmt.Errorf("table %s: %w", of.name, last)
}

// pause waits longer with each attempt, and not as long as the other.
func pause(ctx context.Context, attempt int) error {
	d := min(firstPause<<attempt, lastPause)
	timer := time.NewTimer(d/2 + rand.N(d))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
