package values

import (
	"context"
	"errors"

	"taximeter/schemas"
	"taximeter/schemas/codec"
	"taximeter/schemas/registry"
)

// Events decodes input records as the meter does. It belongs to one goroutine.
type Events struct {
	registry *registry.Client
	decoder  *codec.Decoder
}

// NewEvents does not ask the registry yet.
func NewEvents(r *registry.Client) *Events { return &Events{r, codec.NewDecoder()} }

// Decode is the verdict on a value's bytes: Counted, with its event, or a dead letter's,
// with the fault in words. The error is a RegistryError.
func (e *Events) Decode(ctx context.Context, topic schemas.Topic, value []byte, event *schemas.Event) (schemas.Verdict, string, error) {
	err := e.decoder.Decode(topic, value, event)
	if unknown, ok := errors.AsType[*codec.UnknownSchemaError](err); ok {
		schema, asked := e.registry.SchemaByID(ctx, unknown.ID)
		switch {
		case registry.Unavailable(asked):
			return 0, "", Asked(asked)
		case asked != nil:
			return schemas.DLQUnknownSchema, asked.Error(), nil //nolint:nilerr // the fault is the verdict
		}
		if err = e.decoder.Learn(topic, unknown.ID, schema); err == nil {
			err = e.decoder.Decode(topic, value, event)
		}
	}
	if err != nil {
		return schemas.DLQUnreadable, err.Error(), nil //nolint:nilerr // the fault is the verdict
	}
	return schemas.Counted, "", nil
}
