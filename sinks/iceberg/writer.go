package iceberg

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// filling is a batch under way for a table, which may have more columns than we know: they stay
// null. It copies what it takes, so that of a row nothing else stays in memory: the text that a
// record was decoded from is several times what its columns hold.
type filling[R any] struct {
	to    *array.RecordBuilder
	fills []func(rows []R) // by column
	n     int              // rows
}

func (t *tableOf[R]) fill(to *table.Table) (*filling[R], error) {
	names := make([]string, len(t.fields))
	for i, f := range t.fields {
		names[i] = f.Name
	}
	schema, err := arrowSchema(to, names)
	if err != nil {
		return nil, err
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	f := &filling[R]{to: b}
	for i, field := range schema.Fields() { // in the table's order
		for j := range t.columns {
			if c := &t.columns[j]; c.field.Name == field.Name {
				f.fills = append(f.fills, func(rows []R) { c.fill(b.Field(i), rows) })
			}
		}
	}
	return f, nil
}

func (f *filling[R]) take(rows []R) {
	f.to.Reserve(len(rows))
	for _, fill := range f.fills {
		fill(rows)
	}
	f.n += len(rows)
}

// batch ends it.
func (f *filling[R]) batch() arrow.RecordBatch {
	defer f.to.Release()
	return f.to.NewRecordBatch()
}

// writer collects rows of one table and writes them as files, a chunk at a time.
type writer[R any] struct {
	table *tableOf[R]
	chunk int // rows
	some  []R // not yet in the batch: columns are filled one after the other, which pays for many rows only
	batch *filling[R]
	to    *table.Table
	files []iceberg.DataFile
	// written is told of every file, also of a failed write: to be removed if nothing comes of it.
	written *[]iceberg.DataFile
}

// rowsAtOnce go from rows into columns.
const rowsAtOnce = 500

func (w *writer[R]) add(ctx context.Context, row R) error {
	w.some = append(w.some, row)
	if len(w.some) < rowsAtOnce {
		return nil
	}
	if err := w.pour(); err != nil || w.batch.n < w.chunk {
		return err
	}
	return w.flush(ctx)
}

// pour empties some into the batch.
func (w *writer[R]) pour() (err error) {
	if len(w.some) == 0 {
		return nil
	}
	if w.batch == nil {
		if w.batch, err = w.table.fill(w.to); err != nil {
			return err
		}
	}
	w.batch.take(w.some)
	clear(w.some)
	w.some = w.some[:0]
	return nil
}

// flush writes one file per partition, sorted by the table's order.
func (w *writer[R]) flush(ctx context.Context) error {
	if err := w.pour(); err != nil || w.batch == nil {
		return err
	}
	batch := w.batch.batch()
	w.batch = nil
	files, err := writeBatch(ctx, w.to, batch)
	w.files = append(w.files, files...)
	*w.written = append(*w.written, files...)
	return err
}

// writeBatch writes one batch and gives it up.
func writeBatch(ctx context.Context, to *table.Table, batch arrow.RecordBatch) (files []iceberg.DataFile, err error) {
	one := func(yield func(arrow.RecordBatch, error) bool) { yield(batch, nil) }
	for f, err := range table.WriteRecords(ctx, to, batch.Schema(), one, table.WithClusteredWrite()) {
		if err != nil {
			return files, fmt.Errorf("write a file of table %s: %w", to.Identifier(), err)
		}
		files = append(files, f)
	}
	return files, nil
}
