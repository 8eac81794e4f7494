package pebblestore

import (
	"encoding/binary"
	"fmt"

	"taximeter/checkpoint"
)

// Format is the version of what the keys and values of a store mean. It rises with every
// change of either; this program reads every format up to its own.
const Format = 1

// formatKey is the only key this package knows, and the first in the store; its value is Format,
// uvarint. Owners may use any that begins with a lower-case letter.
var formatKey = []byte("\x00format")

func encodeFormat() []byte { return binary.AppendUvarint(nil, Format) }

// checkFormat judges the value at formatKey of the store in dir.
func checkFormat(dir string, value []byte) error {
	have, n := binary.Uvarint(value)
	switch {
	case n != len(value) || n <= 0 || have < 1:
		return &checkpoint.CorruptError{Key: dir, Detail: fmt.Sprintf("its format is %q", value)}
	case have > Format:
		return &checkpoint.NewerFormatError{Key: dir, Have: Format, Want: int(have)}
	}
	return nil
}
