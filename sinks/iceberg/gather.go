package iceberg

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"taximeter/schemas"
	"taximeter/schemas/codec"
	"taximeter/sinks"
)

// gathering is a commit under way: files are written for all tables, then committed in turn.
type gathering struct {
	lake     *Lake
	from, to sinks.Progress

	tables    map[*shape]*table.Table // as loaded when the commit began
	progress  map[*shape]sinks.Progress
	telemetry writer[raw[schemas.TelemetryRecord]]
	rides     writer[raw[schemas.RideRecord]]
	payments  writer[raw[schemas.PaymentRecord]]
	windows   results[schemas.Window]
	bills     results[schemas.Bill]
	verdicts  writer[verdictRow]
	ends      offsets // after the commit
	gaps      int64

	steps     []step
	written   []iceberg.DataFile // all files of the commit
	attempted bool               // from here on it is unknown what the catalog has taken
}

// gather writes the files. What fails here has changed nothing.
func (g *gathering) gather(ctx context.Context, items []sinks.Item) error {
	if err := g.begin(ctx); err != nil {
		return err
	}
	for _, item := range items {
		if err := g.windows.take(ctx, g, item.Made, item.Outbox.Windows); err != nil {
			return err
		}
		if err := g.bills.take(ctx, g, item.Made, item.Outbox.Bills); err != nil {
			return err
		}
	}
	if err := g.events(ctx, items); err != nil {
		return err
	}
	if err := g.windows.finish(ctx, g, func(_ context.Context, _ *table.Table, due []result[schemas.Window]) ([]place, error) {
		return windowPlaces(due), nil
	}); err != nil {
		return err
	}
	if err := g.bills.finish(ctx, g, billPlaces); err != nil {
		return err
	}
	if err := appended(ctx, g, &g.telemetry); err != nil {
		return err
	}
	if err := appended(ctx, g, &g.rides); err != nil {
		return err
	}
	if err := appended(ctx, g, &g.payments); err != nil {
		return err
	}
	return g.gate(ctx)
}

// begin loads the tables and finds out where each stands.
func (g *gathering) begin(ctx context.Context) error {
	l := g.lake
	g.tables, g.progress = map[*shape]*table.Table{}, map[*shape]sinks.Progress{}
	for _, s := range l.shapes() {
		t, err := l.load(ctx, s)
		if err != nil {
			return err
		}
		p, err := progressOf(t)
		if err != nil {
			return err
		}
		g.tables[s], g.progress[s] = t, p
	}
	gate := g.progress[&l.verdicts.shape]
	if gate != g.from {
		return fmt.Errorf("the lake stands at checkpoint %d after %d restores, not at %d after %d: %w", gate.Made, gate.Restores, g.from.Made, g.from.Restores, sinks.ErrMoved)
	}
	for _, s := range l.takenBack() {
		if p := g.progress[s]; p.Restores != g.from.Restores {
			return fmt.Errorf("table %s has followed %d restores, not %d: %w", s.name, p.Restores, g.from.Restores, sinks.ErrMoved)
		}
	}
	g.telemetry = writing(g, l.telemetry)
	g.rides = writing(g, l.rides)
	g.payments = writing(g, l.payments)
	g.verdicts = writing(g, l.verdicts)
	g.windows = newResults(g, l.windowHist, l.windows, windowSubject)
	g.bills = newResults(g, l.billHist, l.bills, billSubject)
	var err error
	g.ends, err = offsetsOf(g.tables[&l.verdicts.shape])
	return err
}

func writing[R any](g *gathering, t *tableOf[R]) writer[R] {
	return writer[R]{table: t, chunk: g.lake.cfg.ChunkRows, to: g.tables[&t.shape], written: &g.written}
}

// events reads the topics again.
func (g *gathering) events(ctx context.Context, items []sinks.Item) error {
	l := g.lake
	starts, err := l.source.Starts(ctx)
	if err != nil {
		return err
	}
	d := newDecoder(l.source, l.log)
	for _, pass := range follow(items, starts) {
		lanes := slices.SortedFunc(maps.Keys(pass), func(a, b lane) int {
			return int(a.topic)<<16 - int(b.topic)<<16 + int(a.partition-b.partition)
		})
		var ranges []Range
		for _, k := range lanes {
			f := pass[k]
			if r, missing := f.missing(); missing && l.cfg.OnLoss == lossRefuse {
				return &LostError{Range: r, Start: f.start}
			} else if missing {
				l.log.Error("the lake goes on without records that Kafka no longer holds", "topic", k.topic.String(), "partition", k.partition, "first", r.First, "begins", f.start)
			}
			g.continuous(f)
			if r, ok := f.wanted(); ok {
				ranges = append(ranges, r)
			}
		}
		err := l.source.Read(ctx, ranges, func(r *Record) error {
			f := pass[lane{r.Topic, r.Partition}]
			if f == nil {
				return nil
			}
			v, made, ok, err := f.take(r)
			if err != nil || !ok || !v.Accepted() {
				return err
			}
			return g.row(ctx, d, r, origin{v, r.Partition, r.Offset, r.AppendedAt, made})
		})
		if err != nil {
			return err
		}
		for _, k := range lanes {
			if err := pass[k].finish(); err != nil {
				return err
			}
			for _, row := range pass[k].rows {
				if err := g.verdicts.add(ctx, row); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// row adds an accepted record to its table, unless the table has it.
func (g *gathering) row(ctx context.Context, d *decoder, r *Record, o origin) error {
	l := g.lake
	switch r.Topic {
	case schemas.Telemetry:
		return addRaw(ctx, g, d, &g.telemetry, d.telemetry, r, o, telemetryOf)
	case schemas.Rides:
		return addRaw(ctx, g, d, &g.rides, d.rides, r, o, rideOf)
	case schemas.Payments:
		return addRaw(ctx, g, d, &g.payments, d.payments, r, o, paymentOf)
	}
	return fmt.Errorf("a record of topic %s in the lake of %s", r.Topic, l.namespace)
}

func addRaw[T any](ctx context.Context, g *gathering, d *decoder, w *writer[raw[T]], reader *codec.Reader[T], r *Record, o origin, fallback func(*schemas.Event) T) error {
	if o.made <= g.progress[&w.table.shape].Made {
		return nil
	}
	rec, err := decode(ctx, d, reader, r, fallback)
	if err != nil {
		return err
	}
	return w.add(ctx, raw[T]{rec, o})
}

// appended stages what a writer of raw rows has written.
func appended[R any](ctx context.Context, g *gathering, w *writer[R]) error {
	if err := w.flush(ctx); err != nil || len(w.files) == 0 {
		return err
	}
	s := &w.table.shape
	g.steps = append(g.steps, step{of: s, base: g.progress[s], to: g.after(s), stage: appendFiles(w.files)})
	return nil
}

// after is the progress that the commit gives a table. Tables that restores pass by keep
// their count at zero.
func (g *gathering) after(s *shape) sinks.Progress {
	return sinks.Progress{Made: g.to.Made, Restores: g.progress[s].Restores}
}

func appendFiles(files []iceberg.DataFile) func(context.Context, *table.Transaction, iceberg.Properties) error {
	return func(ctx context.Context, txn *table.Transaction, summary iceberg.Properties) error {
		return txn.AddDataFiles(ctx, files, summary, table.WithoutDuplicateCheck(), table.WithoutAutoNameMapping())
	}
}

// gate stages the verdicts, also if there are none: their table says how far the lake is.
func (g *gathering) gate(ctx context.Context) error {
	if err := g.verdicts.flush(ctx); err != nil {
		return err
	}
	s := &g.lake.verdicts.shape
	extra, err := g.ends.properties(g.tables[s], g.gaps)
	g.steps = append(g.steps, step{of: s, base: g.from, to: g.to, extra: extra, stage: appendFiles(g.verdicts.files)})
	return err
}

func (g *gathering) commit(ctx context.Context) error {
	g.attempted = true
	for _, s := range g.steps {
		g.lake.step(s.of.name)
		if err := g.lake.commit(ctx, s); err != nil {
			return err
		}
	}
	g.lake.step("")
	return nil
}

// discard removes what was written: no catalog was told of it.
func (g *gathering) discard() {
	if t := g.tables[&g.lake.verdicts.shape]; t != nil { // one warehouse holds all
		g.lake.remove(context.Background(), t, g.written)
	}
}
