package iceberg

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"taximeter/schemas"
	"taximeter/schemas/codec"
)

// decoder reads whole records, learning writer schemas as they come.
type decoder struct {
	source    Source
	log       *slog.Logger
	telemetry *codec.Reader[schemas.TelemetryRecord]
	rides     *codec.Reader[schemas.RideRecord]
	payments  *codec.Reader[schemas.PaymentRecord]
	events    *codec.Decoder // see fallback.go
	told      map[int]bool   // schema ids already complained of
}

func newDecoder(source Source, log *slog.Logger) *decoder {
	return &decoder{source: source, log: log, telemetry: codec.NewTelemetryReader(), rides: codec.NewVerbatimRideReader(),
		payments: codec.NewVerbatimPaymentReader(), events: codec.NewDecoder(), told: map[int]bool{}}
}

// decode reads an accepted record. What the meter took the lake takes: where a field that the
// meter does not read keeps a value from being read whole, what the meter read is what is left.
func decode[T any](ctx context.Context, d *decoder, reader *codec.Reader[T], r *Record, fallback func(*schemas.Event) T) (T, error) {
	rec, err := reader.Decode(r.Value)
	if unknown, ok := errors.AsType[*codec.UnknownSchemaError](err); ok {
		text, fault := d.source.Schema(ctx, unknown.ID)
		if fault != nil {
			return rec, fmt.Errorf("read %s partition %d offset %d: %w", r.Topic, r.Partition, r.Offset, fault)
		}
		_ = reader.Learn(unknown.ID, text)            // a refusal is said again by Decode
		_ = d.events.Learn(r.Topic, unknown.ID, text) // likewise
		rec, err = reader.Decode(r.Value)
	}
	if err == nil {
		return rec, nil
	}
	var event schemas.Event
	if fault := d.events.Decode(r.Topic, r.Value, &event); fault != nil {
		return rec, fmt.Errorf("%s partition %d offset %d was accepted and cannot be read again: %w", r.Topic, r.Partition, r.Offset, fault)
	}
	if id, _ := codec.SchemaID(r.Value); !d.told[id] {
		d.told[id] = true
		d.log.Warn("rows of the lake lack fields that their writer wrote in another type", "topic", r.Topic.String(), "partition", r.Partition, "offset", r.Offset, "schema", id, "err", err)
	}
	return fallback(&event), nil
}
