package simulation

import (
	"cmp"
	"context"
	"io"

	"taximeter/cmd/internal/crash"
	"taximeter/cmd/internal/events"
	"taximeter/schemas"
	"taximeter/schemas/codec"
)

// chunk is a run of consecutive records on their way from the parser to the meter.
type chunk struct {
	records []schemas.Record
	places  []place // of the records, one each
}

// place is where a record goes, and what its Value is.
type place struct {
	partition schemas.Partition
	value     valueKind
}

type valueKind uint8

const (
	valueIsJSON valueKind = iota // the text of the line's "value"
	valueIsRaw                   // the bytes of the line's "raw"
)

const (
	chunkRecords = 512
	chunks       = 4 // how far the parser may be ahead
)

// readAll parses the files in a goroutine of its own and gives the chunks to each in the
// calling one, in order. It ends with the first error of either, or of ctx.
func readAll(ctx context.Context, files *events.Files, partitions int, each func(*chunk) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	free, full := make(chan *chunk, chunks), make(chan *chunk)
	for range chunks {
		free <- &chunk{}
	}
	var failed error // of the parser; read once full is closed
	go func() {
		defer close(full)
		defer files.Close()
		defer crash.Catch(&failed)
		failed = parse(ctx, files, partitions, free, full)
	}()
	var err error
	for c := range full {
		if err == nil {
			if err = each(c); err != nil {
				cancel()
			}
		}
		free <- c
	}
	if err == nil {
		err = cmp.Or(failed, context.Cause(ctx)) // the parser may have ended before it saw the end of ctx
	}
	return err
}

func parse(ctx context.Context, files *events.Files, partitions int, free <-chan *chunk, full chan<- *chunk) error {
	for {
		c := <-free
		err := c.fill(files, partitions)
		if err != nil && err != io.EOF {
			return err
		}
		select {
		case full <- c:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if err == io.EOF {
			return nil
		}
	}
}

// fill reads records until the chunk is full; io.EOF when there are no more.
func (c *chunk) fill(files *events.Files, partitions int) error {
	c.records, c.places = c.records[:0], c.places[:0]
	for len(c.records) < chunkRecords {
		line, err := files.Next()
		if err != nil {
			return err
		}
		at := place{partition: schemas.PartitionOf(line.RecordKey(), partitions)}
		if line.Raw != nil {
			at.value = valueIsRaw
		}
		var r schemas.Record
		line.Record(&r)
		c.records, c.places = append(c.records, r), append(c.places, at)
	}
	return nil
}

// judgeRaw is the edge.RawDecoder of a world without a registry: which schema a value's
// id means, nobody can say.
func judgeRaw(_ schemas.Topic, value []byte, _ *schemas.Event) (schemas.Verdict, string) {
	if _, err := codec.SchemaID(value); err != nil {
		return schemas.DLQUnreadable, err.Error()
	}
	return schemas.DLQUnknownSchema, "a simulation has no schema registry"
}
