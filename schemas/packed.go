package schemas

import (
	"encoding/binary"
	"slices"
)

// Packed ids are event ids as they are kept by the million: 0 and 16 bytes for a canonical
// UUID, else uvarint length and text; of no id nothing.

// packedUUID is the first byte of a packed UUID; no id that is packed as text has the length 0.
const packedUUID = 0

// packedUUIDLen is the length of a packed UUID.
const packedUUIDLen = 1 + 16

// AppendPacked appends an id, packed.
func AppendPacked(dst []byte, id EventID) []byte {
	if id == "" {
		return dst
	}
	if len(id) == 36 {
		at := len(dst)
		dst = append(slices.Grow(dst, packedUUIDLen), packedUUID)
		if packed, ok := packUUID(dst, id); ok {
			return packed
		}
		dst = dst[:at]
	}
	dst = binary.AppendUvarint(dst, uint64(len(id)))
	return append(dst, id...)
}

// packUUID appends the 16 bytes of a canonical lower-case UUID.
func packUUID(dst []byte, id EventID) ([]byte, bool) {
	for i := 0; i < 36; {
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if id[i] != '-' {
				return dst, false
			}
			i++
			continue
		}
		hi, lo := unhex[id[i]], unhex[id[i+1]]
		if hi|lo > 15 {
			return dst, false
		}
		dst = append(dst, hi<<4|lo)
		i += 2
	}
	return dst, true
}

// unhex maps lower-case hex digits to their value and everything else above 15.
var unhex = func() (t [256]byte) {
	for i := range t {
		t[i] = 0xff
	}
	for i, c := range []byte("0123456789abcdef") {
		t[c] = byte(i)
	}
	return t
}()

// AppendUnpacked appends the text of a packed id.
func AppendUnpacked(dst, packed []byte) []byte {
	if len(packed) == 0 {
		return dst
	}
	if !IsPackedUUID(packed) {
		_, w := binary.Uvarint(packed)
		return append(dst, packed[w:]...)
	}
	const digits = "0123456789abcdef"
	for i, c := range packed[1:packedUUIDLen] {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			dst = append(dst, '-')
		}
		dst = append(dst, digits[c>>4], digits[c&15])
	}
	return dst
}

// IsPackedUUID reports whether a packed id is a UUID: these sort as their texts do.
func IsPackedUUID(packed []byte) bool { return packed[0] == packedUUID }

// PackedLen is the length of the packed id that b starts with, or 0 when it is cut short.
func PackedLen(b []byte) int {
	if len(b) > 0 && IsPackedUUID(b) {
		if len(b) < packedUUIDLen {
			return 0
		}
		return packedUUIDLen
	}
	n, w := binary.Uvarint(b)
	if w <= 0 || n > uint64(len(b)-w) {
		return 0
	}
	return w + int(n)
}
