package iceberg

import (
	"context"
	"fmt"

	"taximeter/schemas"
)

// Range is offsets [First, Next) of one topic and partition; a record lies at First and one
// at Next-1.
type Range struct {
	Topic       schemas.Topic
	Partition   schemas.Partition
	First, Next schemas.Offset
}

// Record is a record as it lies in Kafka.
type Record struct {
	Topic      schemas.Topic
	Partition  schemas.Partition
	Offset     schemas.Offset
	AppendedAt schemas.Millis
	Value      []byte // the taker's only until it returns
}

// Source reads the input topics again.
type Source interface {
	// Starts are the first offsets that the topics still hold, by partition.
	Starts(ctx context.Context) ([schemas.NumInputs]map[schemas.Partition]schemas.Offset, error)
	// Read gives the committed records of the ranges, of each in offset order, and returns when
	// it has given all or take refuses one.
	Read(ctx context.Context, ranges []Range, take func(*Record) error) error
	// Schema is the text of the writer schema with that id.
	Schema(ctx context.Context, id int) (string, error)
}

// LostError: Kafka does not hold what an outbox speaks of and the lake lacks.
type LostError struct {
	Range
	Start schemas.Offset // the first that it holds
}

func (e *LostError) Error() string {
	return fmt.Sprintf("%s partition %d no longer holds offsets %d to %d, which the lake lacks (it begins at %d): the lake was down for longer than the topic's retention. "+
		"If they can be brought back, do; else set lake.onLoss to record, and the lake goes on and writes down in %s what is missing",
		e.Topic, e.Partition, e.First, min(e.Next, e.Start)-1, e.Start, TableVerdicts)
}
