package codec

import (
	"errors"
	"fmt"
)

// Why a value, a writer schema or a record is refused. Each comes wrapped with the
// field, the place and the offending number.
var (
	ErrFrame      = errors.New("not in the Confluent wire format")
	ErrTruncated  = errors.New("value ends too early")
	ErrTrailing   = errors.New("bytes left over after the value")
	ErrVarint     = errors.New("bad variable-length integer")
	ErrUTF8       = errors.New("string is not UTF-8")
	ErrEnumIndex  = errors.New("enum index out of range")
	ErrUnionIndex = errors.New("union index out of range")
	ErrBoolean    = errors.New("boolean is neither 0 nor 1")
	ErrLength     = errors.New("impossible length")
	ErrDecimal    = errors.New("decimal does not fit the contract")
	ErrDepth      = errors.New("value nested too deep")
	ErrNull       = errors.New("null where the contract needs a value")
	ErrBranch     = errors.New("union branch that the contract cannot take")

	// ErrSchema marks a writer schema that cannot be parsed or cannot serve the contract.
	ErrSchema = errors.New("unfit writer schema")

	// ErrEncode marks a record that the contract cannot hold.
	ErrEncode = errors.New("record outside the contract")
)

// UnknownSchemaError says that a value's schema was not learned yet: fetch it, Learn it,
// decode again.
type UnknownSchemaError struct{ ID int }

func (e *UnknownSchemaError) Error() string { return fmt.Sprintf("schema id %d not learned", e.ID) }
