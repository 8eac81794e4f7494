package values

import (
	"context"
	"errors"

	"taximeter/schemas/codec"
	"taximeter/schemas/registry"
)

// unreadable is a fault of the value itself.
type unreadable struct{ error }

func (e unreadable) Unwrap() error { return e.error }

// AtFault reports whether err is the value's fault, so that reading it again helps nothing;
// else the registry could not be asked.
func AtFault(err error) bool {
	_, ok := errors.AsType[unreadable](err)
	return ok || err != nil && !registry.Unavailable(err)
}

// Decode reads a value, asking the registry for a schema that reader has not met.
func Decode[T any](ctx context.Context, r *registry.Client, reader *codec.Reader[T], value []byte) (T, error) {
	x, err := reader.Decode(value)
	if unknown, ok := errors.AsType[*codec.UnknownSchemaError](err); ok {
		schema, asked := r.SchemaByID(ctx, unknown.ID)
		if asked != nil {
			return x, asked
		}
		if err := reader.Learn(unknown.ID, schema); err != nil {
			return x, unreadable{err}
		}
		x, err = reader.Decode(value)
	}
	if err != nil {
		return x, unreadable{err}
	}
	return x, nil
}
