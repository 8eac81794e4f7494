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

// AtFault reports whether err is the value's fault, so that reading it again helps nothing.
func AtFault(err error) bool {
	_, ok := errors.AsType[unreadable](err)
	return ok
}

// RegistryError is a question that the registry left open.
type RegistryError struct{ Err error }

func (e *RegistryError) Error() string { return e.Err.Error() }
func (e *RegistryError) Unwrap() error { return e.Err }

// Asked marks an error of the registry as a RegistryError, unless it is an answer.
func Asked(err error) error {
	if registry.Unavailable(err) {
		return &RegistryError{err}
	}
	return err
}

// schemaOf a value: an id that the registry does not know is the value's fault.
func schemaOf(ctx context.Context, r *registry.Client, id int) (string, error) {
	schema, err := r.SchemaByID(ctx, id)
	if err != nil && !registry.Unavailable(err) {
		return "", unreadable{err}
	}
	return schema, Asked(err)
}

// Decode reads a value, asking the registry for a schema that reader has not met.
func Decode[T any](ctx context.Context, r *registry.Client, reader *codec.Reader[T], value []byte) (T, error) {
	x, err := reader.Decode(value)
	if unknown, ok := errors.AsType[*codec.UnknownSchemaError](err); ok {
		schema, asked := schemaOf(ctx, r, unknown.ID)
		if asked != nil {
			return x, asked
		}
		if err = reader.Learn(unknown.ID, schema); err == nil {
			x, err = reader.Decode(value)
		}
	}
	if err != nil {
		return x, unreadable{err}
	}
	return x, nil
}
