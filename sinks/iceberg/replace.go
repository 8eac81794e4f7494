package iceberg

import (
	"context"
	"fmt"
	"maps"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"taximeter/checkpoint"
	"taximeter/schemas"
	"taximeter/sinks"
)

// subject is what versions are versions of: a trip's bill, or one of its windows.
type subject struct {
	trip  schemas.TripID
	start schemas.Millis // of the window
}

func billSubject(b *schemas.Bill) (subject, int) { return subject{trip: b.TripID}, b.Version }
func windowSubject(w *schemas.Window) (subject, int) {
	return subject{w.TripID, w.Start}, w.Version
}

// results is the versions of a commit: all of them into the history, and of each subject the
// newest into the table of what stands, where it replaces the version before.
type results[T any] struct {
	history, current writer[result[T]]
	subject          func(*T) (subject, int)
	standing         map[subject]standing[T]
}

// standing is the newest version of a subject within a commit. An equality delete does not
// touch rows of its own snapshot, so only one version may go in.
type standing[T any] struct {
	result[T]
	version int
	first   int // least version within the commit: above 1, an earlier one is in the table
}

func newResults[T any](g *gathering, history, current *tableOf[result[T]], of func(*T) (subject, int)) results[T] {
	return results[T]{history: writing(g, history), current: writing(g, current), subject: of, standing: map[subject]standing[T]{}}
}

// take adds the versions of one outbox to the tables that do not have them yet. Outboxes
// come in the order of the manifests that made them, so later versions come later.
func (r *results[T]) take(ctx context.Context, g *gathering, made checkpoint.Number, versions []T) error {
	inHistory, inCurrent := made <= g.progress[&r.history.table.shape].Made, made <= g.progress[&r.current.table.shape].Made
	for i := range versions {
		row := result[T]{versions[i], made}
		if !inHistory {
			if err := r.history.add(ctx, row); err != nil {
				return err
			}
		}
		if inCurrent {
			continue
		}
		key, version := r.subject(&row.of)
		s, ok := r.standing[key]
		if !ok {
			s.first = version
		}
		if version >= s.version {
			s.result, s.version = row, version
		}
		r.standing[key] = s
	}
	return nil
}

// place is the row that a new version replaces: its key, and the day in which it lies.
type place struct {
	subject
	day schemas.Millis // any instant of it
}

// finish writes and stages both tables. places finds the rows to replace.
func (r *results[T]) finish(ctx context.Context, g *gathering, places func(context.Context, *table.Table, []result[T]) ([]place, error)) error {
	if err := appended(ctx, g, &r.history); err != nil {
		return err
	}
	if len(r.standing) == 0 {
		return nil
	}
	var replacing []result[T]
	for s := range maps.Values(r.standing) {
		if s.first > 1 {
			replacing = append(replacing, s.result)
		}
		if err := r.current.add(ctx, s.result); err != nil {
			return err
		}
	}
	if err := r.current.flush(ctx); err != nil {
		return err
	}
	s := &r.current.table.shape
	st := step{of: s, base: g.progress[s], to: g.after(s), stage: appendFiles(r.current.files)}
	if len(replacing) > 0 {
		t := g.tables[s]
		old, err := places(ctx, t, replacing)
		if err != nil {
			return err
		}
		deletes, err := writeDeletes(ctx, t, s, old)
		g.written = append(g.written, deletes...)
		if err != nil {
			return err
		}
		rows := r.current.files
		st.stage = func(ctx context.Context, txn *table.Transaction, summary iceberg.Properties) error {
			return txn.NewRowDelta(summary).AddRows(rows...).AddDeletes(deletes...).Commit(ctx)
		}
	}
	g.steps = append(g.steps, st)
	return nil
}

// windowPlaces: a window's start is its key and never changes.
func windowPlaces(due []result[schemas.Window]) []place {
	places := make([]place, len(due))
	for i := range due {
		places[i] = place{subject{due[i].of.TripID, due[i].of.Start}, due[i].of.Start}
	}
	return places
}

// nearby is how far from the new start of a trip its earlier one is looked for first.
const nearby = 2 * schemas.Day

// billPlaces finds the days in which the bills to replace lie. A correction may move the
// start of a trip to another day, and a delete reaches only its own partition; so the row
// itself tells, near the new start or, rarely, anywhere. A bill that is in no partition came
// before the lake did.
func billPlaces(ctx context.Context, t *table.Table, due []result[schemas.Bill]) ([]place, error) {
	missing := map[string]bool{}
	from, to := schemas.EndOfTime, schemas.NoTime
	for i := range due {
		missing[string(due[i].of.TripID)] = true
		from, to = min(from, due[i].of.Start), max(to, due[i].of.Start)
	}
	var places []place
	find := func(within iceberg.BooleanExpression) error {
		trips := iceberg.IsIn(iceberg.Reference(columnTrip), keys(missing)...)
		return scan(ctx, t, iceberg.NewAnd(trips, within), []string{columnTrip, columnBillStart}, func(batch arrow.RecordBatch) error {
			trip, start, err := billColumns(batch)
			if err != nil {
				return err
			}
			for i := range int(batch.NumRows()) {
				places = append(places, place{subject{trip: schemas.TripID(trip.Value(i))}, schemas.Millis(start.Value(i) / 1000)})
				delete(missing, trip.Value(i))
			}
			return nil
		})
	}
	start := iceberg.Reference(columnBillStart)
	near := iceberg.NewAnd(iceberg.GreaterThanEqual(start, timestamp(from-nearby)), iceberg.LessThanEqual(start, timestamp(to+nearby)))
	if err := find(near); err != nil {
		return nil, err
	}
	if len(missing) > 0 {
		if err := find(iceberg.NewNot(near)); err != nil {
			return nil, err
		}
	}
	return places, nil
}

func timestamp(t schemas.Millis) iceberg.Timestamp { return iceberg.Timestamp(int64(t) * 1000) }

func keys(m map[string]bool) []string {
	all := make([]string, 0, len(m))
	for k := range m {
		all = append(all, k)
	}
	return all
}

func billColumns(batch arrow.RecordBatch) (trip *array.String, start *array.Timestamp, err error) {
	if trip, err = columnOf[*array.String](batch, columnTrip); err == nil {
		start, err = columnOf[*array.Timestamp](batch, columnBillStart)
	}
	return trip, start, err
}

// writeDeletes writes the files that make the rows of these keys disappear. They also name
// the day, by which they find their partition.
func writeDeletes(ctx context.Context, t *table.Table, s *shape, old []place) ([]iceberg.DataFile, error) {
	if len(old) == 0 {
		return nil, nil
	}
	names := s.key
	if len(names) == 1 {
		names = append(names[:1:1], s.day)
	}
	schema, err := arrowSchema(t, names)
	if err != nil {
		return nil, err
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	for i, f := range schema.Fields() {
		for _, p := range old {
			switch to := b.Field(i).(type) {
			case *array.StringBuilder:
				to.Append(string(p.trip))
			case *array.TimestampBuilder:
				putInstant(to, p.day)
			default:
				return nil, fmt.Errorf("table %s: column %s cannot be part of a key", s.name, f.Name)
			}
		}
	}
	var ids []int
	for _, name := range s.key {
		f, ok := t.Schema().FindFieldByName(name)
		if !ok {
			return nil, fmt.Errorf("%w: table %s has no column %s", sinks.ErrRefused, s.name, name)
		}
		ids = append(ids, f.ID)
	}
	batch := b.NewRecordBatch()
	files, err := t.NewTransaction().WriteEqualityDeletes(ctx, ids, func(yield func(arrow.RecordBatch, error) bool) { yield(batch, nil) })
	if err != nil {
		return files, fmt.Errorf("write deletes of table %s: %w", s.name, err)
	}
	return files, nil
}
