package iceberg

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"taximeter/checkpoint"
	"taximeter/schemas"
)

// offsets is where the verdicts of each topic and partition end; -1 = none yet. They are a
// property of TableVerdicts, so that the next commit sees at once if an outbox was left out.
//
// Invariant: offsets[t][p] is the offset_seguinte of that lane's newest row.
type offsets [schemas.NumInputs][]schemas.Offset

const unknownOffset schemas.Offset = -1

func offsetsOf(t *table.Table) (o offsets, err error) {
	text, ok := t.Properties()[propertyOffsets]
	if !ok {
		return o, nil
	}
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return o, fmt.Errorf("table %s: property %s: %w: somebody else has changed it", t.Identifier(), propertyOffsets, err)
	}
	return o, nil
}

func (o *offsets) at(l lane) schemas.Offset {
	if int(l.partition) >= len(o[l.topic]) {
		return unknownOffset
	}
	return o[l.topic][l.partition]
}

func (o *offsets) set(l lane, to schemas.Offset) {
	for len(o[l.topic]) <= int(l.partition) {
		o[l.topic] = append(o[l.topic], unknownOffset)
	}
	o[l.topic][l.partition] = to
}

// properties are the offsets and the count of those that no outbox told of.
func (o *offsets) properties(t *table.Table, gaps int64) (iceberg.Properties, error) {
	text, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	before, err := propertyInt(t, propertyGaps)
	if err != nil {
		return nil, err
	}
	return iceberg.Properties{propertyOffsets: string(text), propertyGaps: strconv.FormatInt(before+gaps, 10)}, nil
}

// continuous compares where a lane goes on with where it ended. Going back is a restore or
// an operator; offsets left out are a fault of ours, which the lake cannot mend and must not
// hide.
func (g *gathering) continuous(f *follower) {
	l := lane{f.topic, f.partition}
	for i := range f.stretches {
		s := &f.stretches[i]
		if end := g.ends.at(l); end != unknownOffset && s.First > end {
			g.gaps += int64(s.First - end)
			g.lake.log.Error("offsets are missing between two checkpoints: the lake does not know what became of them",
				"topic", f.topic.String(), "partition", f.partition, "first", end, "next", s.First, "checkpoint", s.made)
		}
		g.ends.set(l, s.Next())
	}
}

// offsetsBefore finds where the verdicts ended when the manifest after was the newest.
func (l *Lake) offsetsBefore(ctx context.Context, t *table.Table, after checkpoint.Number) (iceberg.Properties, error) {
	var ends offsets
	newest := map[lane]int64{}
	columns := []string{columnTopic, columnPartition, columnCheckpoint, columnNext}
	err := scan(ctx, t, iceberg.LessThanEqual(iceberg.Reference(columnCheckpoint), int64(after)), columns, func(batch arrow.RecordBatch) error {
		topic, err1 := columnOf[*array.String](batch, columnTopic)
		partition, err2 := columnOf[*array.Int32](batch, columnPartition)
		made, err3 := columnOf[*array.Int64](batch, columnCheckpoint)
		next, err4 := columnOf[*array.Int64](batch, columnNext)
		for _, err := range []error{err1, err2, err3, err4} {
			if err != nil {
				return err
			}
		}
		for i := range int(batch.NumRows()) {
			in, ok := schemas.InputTopic(topic.Value(i))
			if !ok {
				return fmt.Errorf("table %s speaks of topic %q", TableVerdicts, topic.Value(i))
			}
			k, end := lane{in, schemas.Partition(partition.Value(i))}, schemas.Offset(next.Value(i))
			if m := made.Value(i); m > newest[k] || m == newest[k] && end > ends.at(k) {
				newest[k] = m
				ends.set(k, end)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return ends.properties(t, 0)
}
