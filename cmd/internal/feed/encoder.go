package feed

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/cmd/internal/values"
	"taximeter/schemas"
	"taximeter/schemas/avro"
	"taximeter/schemas/codec"
	"taximeter/schemas/edge"
	"taximeter/schemas/registry"
)

// Encoder makes records of lines. It belongs to one goroutine.
type Encoder struct {
	// SchemaIDs are the ids of the input topics' contracts in the registry.
	SchemaIDs [schemas.NumInputs]int
	// AsText counts the records that no Avro value can express; they went as the JSON text
	// of their file, which the meter cannot read there either.
	AsText int64
}

// Register registers the contracts of the input topics.
func Register(ctx context.Context, r *registry.Client) (*Encoder, error) {
	e := &Encoder{}
	for _, topic := range schemas.Inputs {
		c, ok := avro.Of(topic.String())
		if !ok {
			return nil, fmt.Errorf("topic %s has no contract", topic)
		}
		id, err := r.Register(ctx, c.Subject(), c.Schema)
		if err != nil {
			return nil, values.Asked(err)
		}
		e.SchemaIDs[topic] = id
	}
	return e, nil
}

// Record is the line's Kafka record, which shares nothing with it. Its timestamp is the
// line's appendedAt, for brokers that take the producer's; else the client sets it.
func (e *Encoder) Record(l *edge.Line) (*kgo.Record, error) {
	value, err := e.value(l)
	if err != nil {
		return nil, fmt.Errorf("event %d: %w", l.Number, err)
	}
	r := &kgo.Record{Topic: l.Topic.String(), Key: l.RecordKey(), Value: value}
	if l.AppendedAt != schemas.NoTime {
		r.Timestamp = time.UnixMilli(int64(l.AppendedAt))
	}
	return r, nil
}

func (e *Encoder) value(l *edge.Line) ([]byte, error) {
	if l.Raw != nil {
		return l.Raw, nil
	}
	if l.Fault != schemas.Counted {
		return e.text(l), nil
	}
	value, err := e.encode(l)
	if errors.Is(err, codec.ErrEncode) && l.Value != nil {
		return e.text(l), nil
	}
	return value, err
}

// text is the JSON as it stood: never a Confluent frame, which begins with a zero byte.
func (e *Encoder) text(l *edge.Line) []byte {
	e.AsText++
	return append([]byte(nil), l.Value...)
}

func (e *Encoder) encode(l *edge.Line) ([]byte, error) {
	id := e.SchemaIDs[l.Topic]
	switch {
	case l.Telemetry != nil:
		return codec.AppendTelemetry(nil, id, l.Telemetry)
	case l.Ride != nil:
		r := *l.Ride
		r.Kind = symbol(l.Topic, r.Kind)
		return codec.AppendRide(nil, id, &r)
	case l.Payment != nil:
		r := *l.Payment
		r.Kind = symbol(l.Topic, r.Kind)
		return codec.AppendPayment(nil, id, &r)
	}
	return nil, errors.New("a line without a record")
}

// symbol is what a reader of the contract makes of an enum symbol: its default, if the
// contract does not have it.
func symbol(t schemas.Topic, word string) string { return schemas.KindOf(t, word).String() }
