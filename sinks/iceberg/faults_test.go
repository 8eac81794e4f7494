package iceberg

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/apache/iceberg-go/catalog"
	icebergio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"

	"taximeter/checkpoint"
	"taximeter/schemas"
	"taximeter/sinks"
)

// interposed is a catalog whose commits pass through around.
type interposed struct {
	catalog.Catalog
	around func(name string, commit func() error) error
}

func (c *interposed) LoadTable(ctx context.Context, id table.Identifier) (*table.Table, error) {
	t, err := c.Catalog.LoadTable(ctx, id)
	if err != nil {
		return nil, err
	}
	return table.New(id, t.Metadata(), t.MetadataLocation(), func(ctx context.Context) (icebergio.IO, error) { return t.FS(ctx) }, c), nil
}

func (c *interposed) CommitTable(ctx context.Context, id table.Identifier, reqs []table.Requirement, updates []table.Update) (meta table.Metadata, location string, err error) {
	err = c.around(id[len(id)-1], func() error {
		meta, location, err = c.Catalog.CommitTable(ctx, id, reqs, updates)
		return err
	})
	return meta, location, err
}

func (l *Lake) interpose(around func(name string, commit func() error) error) {
	l.catalog = &interposed{l.catalog, around}
}

var errDropped = errors.New("the answer was lost")

// threeCheckpoints are items of two partitions, with a bill that is corrected.
func (w *world) threeCheckpoints() []sinks.Item {
	var items []sinks.Item
	for n := range 3 {
		i := item(0, checkpoint.Number(2+n), w.telemetry(0, "a", 3))
		i.Outbox.Bills = []schemas.Bill{bill("a", 1+n, noon, 100)}
		i.Outbox.Windows = []schemas.Window{window("a", noon, 1+n, n)}
		items = append(items, i, item(1, checkpoint.Number(2+n), w.telemetry(1, "b", 2)))
	}
	return items
}

func (w *world) wantThreeCheckpoints(l *Lake) {
	w.t.Helper()
	wantEachOnce(w.t, l, 15)
	wantRows(w.t, l, TableBills, []string{columnTrip, columnVersion}, "a 3")
	wantRows(w.t, l, TableBillVersions, []string{columnTrip, columnVersion}, "a 1", "a 2", "a 3")
	wantRows(w.t, l, TableWindows, []string{columnVersion, "pontos"}, "3 2")
	wantRows(w.t, l, TableWindowVersions, []string{columnVersion}, "1", "2", "3")
	wantRows(w.t, l, TableVerdicts, []string{columnPartition, columnFirst, columnNext, columnCheckpoint}, "0 0 3 2", "0 3 6 3", "0 6 9 4", "1 0 2 2", "1 2 4 3", "1 4 6 4")
}

func TestAnswerDroppedAfterTheCatalogCommit(t *testing.T) {
	w := newWorld(t)
	l := w.open()
	dropped := 0
	l.interpose(func(_ string, commit func() error) error {
		if err := commit(); err != nil {
			return err
		}
		dropped++
		return errDropped
	})
	items := w.threeCheckpoints()
	commit(t, l, 2, items[:2]...)
	commit(t, l, 4, items[2:]...)
	if dropped == 0 {
		t.Fatal("no answer was dropped")
	}
	w.wantThreeCheckpoints(l)
}

// A committer dies before, or right after, the commit of each of the tables; another one
// takes over and goes farther.
func TestCommitterDiesAtEachTable(t *testing.T) {
	for _, landed := range []bool{false, true} {
		for at := range 6 {
			t.Run(fmt.Sprint("commit ", at, " landed ", landed), func(t *testing.T) {
				w := newWorld(t)
				dying, next := w.open(), w.open()
				ctx, die := context.WithCancel(t.Context())
				n := 0
				dying.interpose(func(_ string, commit func() error) error {
					if n++; n <= at {
						return commit()
					}
					defer die()
					if !landed {
						return errDropped
					}
					return errors.Join(commit(), errDropped)
				})
				items := w.threeCheckpoints()
				if err := dying.Commit(ctx, sinks.Progress{}, sinks.Progress{Made: 3}, items[:4]); err == nil {
					t.Fatal("it did not die")
				}
				from, err := next.Progress(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				left := items
				for len(left) > 0 && left[0].Made <= from.Made {
					left = left[1:]
				}
				commit(t, next, 4, left...)
				w.wantThreeCheckpoints(next)
			})
		}
	}
}

// A commit is held back on its way to the catalog, its owner is taken for dead, another one
// commits the same and more; then the first is released.
func TestCommitHeldBackAndReleased(t *testing.T) {
	for at := range 6 {
		t.Run(fmt.Sprint("commit ", at), func(t *testing.T) {
			w := newWorld(t)
			slow, next := w.open(), w.open()
			held, release := make(chan struct{}), make(chan struct{})
			n := 0
			slow.interpose(func(_ string, commit func() error) error {
				if n++; n == at+1 {
					close(held)
					<-release
				}
				return commit()
			})
			items := w.threeCheckpoints()
			ended := make(chan error)
			go func() { ended <- slow.Commit(t.Context(), sinks.Progress{}, sinks.Progress{Made: 3}, items[:4]) }()
			<-held
			commit(t, next, 4, items...)
			close(release)
			if err := <-ended; !errors.Is(err, sinks.ErrMoved) {
				t.Errorf("the late commit: %v", err)
			}
			w.wantThreeCheckpoints(next)
		})
	}
}

// The same, over a restore: the late commit is of the abandoned line, to a table that has
// no row of it, or no row at all.
func TestCommitHeldBackOverARestore(t *testing.T) {
	for _, late := range []func(*world) schemas.VerdictSpan{
		func(w *world) schemas.VerdictSpan { return w.telemetry(0, "a", 2) },
		func(w *world) schemas.VerdictSpan {
			return w.ride(0, schemas.RideRecord{EventID: "r", TripID: "a", At: noon, Kind: "MATCH"})
		},
	} {
		w := newWorld(t)
		slow, next := w.open(), w.open()
		commit(t, next, 2, item(0, 2, w.telemetry(0, "a", 5)))
		held, release := make(chan struct{}), make(chan struct{})
		var once sync.Once
		slow.interpose(func(_ string, commit func() error) error {
			once.Do(func() { close(held); <-release })
			return commit()
		})
		items := []sinks.Item{item(0, 4, late(w))}
		ended := make(chan error)
		go func() { ended <- slow.Commit(t.Context(), sinks.Progress{Made: 2}, sinks.Progress{Made: 4}, items) }()
		<-held
		if err := next.Rewind(t.Context(), sinks.Progress{Made: 2}, checkpoint.Span{After: 2, Through: 4}); err != nil {
			t.Fatal(err)
		}
		close(release)
		if err := <-ended; !errors.Is(err, sinks.ErrMoved) {
			t.Errorf("the late commit: %v", err)
		}
		wantEachOnce(t, next, 5)
		wantRows(t, next, TableRides, []string{"event_id"})
		if p, err := next.Progress(t.Context()); err != nil || p != (sinks.Progress{Made: 2, Restores: 1}) {
			t.Fatal(p, err)
		}
	}
}
