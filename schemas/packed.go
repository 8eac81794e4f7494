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

// packUUID appends the 16 bytes of a canonical lower-case UUID, of 36 characters.
func packUUID(dst []byte, id EventID) ([]byte, bool) {
	a, aIs := unhex(word(id[0:4]) | word(id[4:8])<<32)
	b, bIs := unhex(word(id[9:13]) | word(id[14:18])<<32)
	c, cIs := unhex(word(id[19:23]) | word(id[24:28])<<32)
	d, dIs := unhex(word(id[28:32]) | word(id[32:36])<<32)
	if !aIs || !bIs || !cIs || !dIs || id[8] != '-' || id[13] != '-' || id[18] != '-' || id[23] != '-' {
		return dst, false
	}
	var packed [16]byte
	binary.LittleEndian.PutUint64(packed[:], uint64(a)|uint64(b)<<32)
	binary.LittleEndian.PutUint64(packed[8:], uint64(c)|uint64(d)<<32)
	return append(dst, packed[:]...), true
}

// word is four characters, the first in the lowest byte.
func word(s EventID) uint64 {
	_ = s[3]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24
}

// unhex is the four bytes that eight lower-case hex digits say, the first in the lowest byte; ok is
// false when some are none. All eight are worked on at once, a byte each.
func unhex(digits uint64) (four uint32, ok bool) {
	const each = 0x0101010101010101
	letters := digits >> 6 & each // '0' is 0x30, 'a' is 0x61
	v := digits&(0x0f*each) + 9*letters
	// What is a digit comes out again, and nothing else is below 16 and does.
	above9 := (v + (0x80-10)*each) >> 7 & each
	if v&(0xf0*each) != 0 || v+'0'*each+('a'-10-'0')*above9 != digits {
		return 0, false
	}
	v = (v<<4 | v>>8) & 0x00ff00ff00ff00ff
	v = (v | v>>8) & 0x0000ffff0000ffff
	return uint32(v | v>>16), true
}

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
