package codec

import (
	"encoding/binary"
	"fmt"
)

// frameLen is the length of the head of a value in the Confluent wire format.
const frameLen = 5

// SchemaID reads the writer's schema id off a value.
func SchemaID(value []byte) (int, error) {
	if len(value) < frameLen {
		return 0, fmt.Errorf("%w: %d bytes, want at least %d", ErrFrame, len(value), frameLen)
	}
	if value[0] != 0 {
		return 0, fmt.Errorf("%w: first byte is %#02x, want 0", ErrFrame, value[0])
	}
	return int(binary.BigEndian.Uint32(value[1:frameLen])), nil
}

// appendFrame starts a value in the Confluent wire format.
func appendFrame(dst []byte, id int) []byte {
	return binary.BigEndian.AppendUint32(append(dst, 0), uint32(id))
}
