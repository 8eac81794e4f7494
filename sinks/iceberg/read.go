package iceberg

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/iceberg-go"

	"taximeter/checkpoint"
	"taximeter/schemas"
)

// Stretch is a row of TableVerdicts: what became of the offsets [First, Next). Those
// without a record are in no count.
type Stretch struct {
	Topic       schemas.Topic
	Partition   schemas.Partition
	Made        checkpoint.Number
	First, Next schemas.Offset
	Counts      [schemas.NumVerdicts]int64
	Lost        int64 // accepted, and in no table because Kafka no longer held them
}

const columnLost = "perdidos"

// Stretches gives take every row of TableVerdicts, in no order.
func (l *Lake) Stretches(ctx context.Context, take func(Stretch) error) error {
	ctx = l.reaching(ctx)
	t, err := l.load(ctx, &l.verdicts.shape)
	if err != nil {
		return err
	}
	columns := []string{columnTopic, columnPartition, columnCheckpoint, columnFirst, columnNext, columnLost}
	for v := range schemas.NumVerdicts {
		columns = append(columns, verdictColumn(v))
	}
	return scan(ctx, t, iceberg.AlwaysTrue{}, columns, func(batch arrow.RecordBatch) error {
		topics, err := columnOf[*array.String](batch, columnTopic)
		if err != nil {
			return err
		}
		partitions, err := columnOf[*array.Int32](batch, columnPartition)
		if err != nil {
			return err
		}
		var longs []*array.Int64
		for _, name := range slices.Delete(slices.Clone(columns), 0, 2) {
			c, err := columnOf[*array.Int64](batch, name)
			if err != nil {
				return err
			}
			longs = append(longs, c)
		}
		for i := range int(batch.NumRows()) {
			at := func(column int) int64 {
				if longs[column].IsNull(i) {
					return 0
				}
				return longs[column].Value(i)
			}
			s := Stretch{Partition: schemas.Partition(partitions.Value(i)), Made: checkpoint.Number(at(0)), First: schemas.Offset(at(1)), Next: schemas.Offset(at(2)), Lost: at(3)}
			topic, ok := schemas.InputTopic(topics.Value(i))
			if !ok {
				return fmt.Errorf("table %s speaks of topic %q", TableVerdicts, topics.Value(i))
			}
			s.Topic = topic
			for v := range s.Counts {
				s.Counts[v] = at(4 + v)
			}
			if err := take(s); err != nil {
				return err
			}
		}
		return nil
	})
}

func verdictColumn(v schemas.Verdict) string { return strings.ReplaceAll(v.String(), ":", "_") }
