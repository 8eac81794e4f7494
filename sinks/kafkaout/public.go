package kafkaout

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/checkpoint"
	"taximeter/schemas"
	"taximeter/schemas/codec"
)

// Public is what readers of a partition see of some outboxes, in the order of the logs.
type Public struct {
	Bills   []schemas.Bill
	Windows []schemas.Window
	Letters []Source
}

// Source is the record that a dead letter was.
type Source struct {
	Topic  schemas.Topic
	Offset schemas.Offset
}

// clockMargin is how far the clocks of brokers and nodes may be apart without a published
// record being overlooked. A day of a partition's results is some ten megabytes.
const clockMargin = 24 * time.Hour

// SchemaByID looks a writer's schema up in the registry.
type SchemaByID func(ctx context.Context, id int) (string, error)

// Public reads back what of a partition was published since about an instant from outboxes
// that holds says yes to. Its answer is complete only after opening a Publisher, whose
// predecessors' transactions may else still land.
func (k *Kafka) Public(ctx context.Context, p schemas.Partition, since schemas.Millis, holds func(checkpoint.Number) bool, schema SchemaByID) (Public, error) {
	r := publicReader{payments: codec.NewPaymentReader(), printers: make(map[int]*codec.Printer), schema: schema}
	at := max(since.Time().Add(-clockMargin).UnixMilli(), 0)
	for _, topic := range []string{schemas.TopicPayments, schemas.TopicWindows, schemas.TopicDLQ} {
		from, err := k.offset(ctx, topic, p, at)
		if err != nil {
			return Public{}, fmt.Errorf("read %s/%d back: %w", topic, p, err)
		}
		_, err = k.read(ctx, topic, p, from, func(rec *kgo.Record) error {
			if made, ok := k.madeOf(rec); !ok || !holds(made) {
				return nil
			}
			return r.take(ctx, rec)
		})
		if err != nil {
			return Public{}, err
		}
	}
	return r.found, nil
}

// madeOf is the manifest number that a record of our namespace came from.
func (k *Kafka) madeOf(r *kgo.Record) (made checkpoint.Number, ok bool) {
	if value, _ := valueOf(r, schemas.HeaderNamespace); value != k.o.Namespace {
		return 0, false
	}
	value, _ := valueOf(r, schemas.HeaderCheckpoint)
	n, err := strconv.ParseInt(value, 10, 64)
	return checkpoint.Number(n), err == nil
}

func valueOf(r *kgo.Record, header string) (string, bool) {
	for _, h := range r.Headers {
		if h.Key == header {
			return string(h.Value), true
		}
	}
	return "", false
}

type publicReader struct {
	payments *codec.Reader[schemas.PaymentRecord]
	printers map[int]*codec.Printer
	schema   SchemaByID
	found    Public
}

func (r *publicReader) take(ctx context.Context, rec *kgo.Record) error {
	switch rec.Topic {
	case schemas.TopicPayments:
		payment, err := r.payment(ctx, rec.Value)
		if err != nil {
			return err
		}
		if bill, ok := payment.Issued(); ok {
			r.found.Bills = append(r.found.Bills, bill)
		}
	case schemas.TopicWindows:
		w, err := r.window(ctx, rec.Value)
		if err != nil {
			return err
		}
		r.found.Windows = append(r.found.Windows, w)
	case schemas.TopicDLQ:
		value, _ := valueOf(rec, schemas.HeaderSource)
		s, ok := parseSource(value)
		if ok {
			r.found.Letters = append(r.found.Letters, s)
		}
	}
	return nil
}

func (r *publicReader) payment(ctx context.Context, value []byte) (schemas.PaymentRecord, error) {
	p, err := r.payments.Decode(value)
	unknown, ok := errors.AsType[*codec.UnknownSchemaError](err)
	if !ok {
		return p, err
	}
	schema, err := r.schema(ctx, unknown.ID)
	if err == nil {
		err = r.payments.Learn(unknown.ID, schema)
	}
	if err != nil {
		return p, err
	}
	return r.payments.Decode(value)
}

// window is decoded by the names of its fields, which are those of the word's JSON.
func (r *publicReader) window(ctx context.Context, value []byte) (w schemas.Window, err error) {
	id, err := codec.SchemaID(value)
	if err != nil {
		return w, err
	}
	if r.printers[id] == nil {
		schema, err := r.schema(ctx, id)
		if err != nil {
			return w, err
		}
		if r.printers[id], err = codec.NewPrinter(schema); err != nil {
			return w, err
		}
	}
	text, err := r.printers[id].Append(nil, value)
	if err != nil {
		return w, err
	}
	return w, json.Unmarshal(text, &w)
}

// parseSource reads the source header: topic/partition/offset. A letter that was no record,
// but a timer that panicked, has no offset.
func parseSource(value string) (s Source, ok bool) {
	parts := strings.Split(value, "/")
	if len(parts) != 3 {
		return s, false
	}
	topic, known := schemas.InputTopic(parts[0])
	offset, err := strconv.ParseInt(parts[2], 10, 64)
	return Source{topic, schemas.Offset(offset)}, known && err == nil && offset >= 0
}
