package iceberg

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// scan reads some columns of the rows that a filter admits, a batch at a time.
func scan(ctx context.Context, t *table.Table, filter iceberg.BooleanExpression, columns []string, take func(arrow.RecordBatch) error) error {
	if t.CurrentSnapshot() == nil {
		return nil
	}
	s := t.Scan(table.WithRowFilter(filter), table.WithSelectedFields(columns...), table.WithMaxConcurrency(1))
	defer s.Close()
	_, batches, err := s.ToArrowRecords(ctx)
	if err != nil {
		return fmt.Errorf("read table %s: %w", t.Identifier(), err)
	}
	for batch, err := range batches {
		if err != nil {
			return fmt.Errorf("read table %s: %w", t.Identifier(), err)
		}
		err = take(batch)
		batch.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

// columnOf is a column of a batch as the array that its type has.
func columnOf[A arrow.Array](batch arrow.RecordBatch, name string) (a A, err error) {
	for i, f := range batch.Schema().Fields() {
		if f.Name != name {
			continue
		}
		a, ok := batch.Column(i).(A)
		if !ok {
			return a, fmt.Errorf("column %s is read as %s", name, f.Type)
		}
		return a, nil
	}
	return a, fmt.Errorf("column %s was not read", name)
}
