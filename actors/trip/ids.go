package trip

import (
	"bytes"
	"encoding/binary"
	"math/bits"

	"taximeter/schemas"
)

// ids is the set of a trip's telemetry event ids: exact, without a pointer or an
// allocation per id. An id is named by its place in the arena for as long as the trip
// lives.
type ids struct {
	arena []byte  // entries: 0 and 16 bytes for a canonical UUID, else uvarint length and text
	table []idRef // open addressing, 0 = free; a power of two long
	count int
}

// idRef is an entry's place in the arena, plus one.
type idRef uint32

const packedUUID = 0 // first byte of an entry; no id is empty, so no length is 0

// find looks id up.
func (s *ids) find(id schemas.EventID) (idRef, bool) {
	if s.count == 0 {
		return 0, false
	}
	var buf [64]byte
	entry := appendEntry(buf[:0], id)
	for i := hash(entry) & uint64(len(s.table)-1); ; i = (i + 1) & uint64(len(s.table)-1) {
		ref := s.table[i]
		if ref == 0 {
			return 0, false
		}
		if bytes.HasPrefix(s.arena[ref-1:], entry) {
			return ref, true
		}
	}
}

// add takes an id that find did not find.
func (s *ids) add(id schemas.EventID) idRef {
	ref := idRef(len(s.arena) + 1)
	s.arena = appendEntry(s.arena, id)
	s.count++
	if s.count*4 > len(s.table)*3 {
		s.grow()
	} else {
		s.place(ref)
	}
	return ref
}

func (s *ids) grow() {
	s.table = make([]idRef, max(16, 2*len(s.table)))
	for at := 0; at < len(s.arena); at += entryLen(s.arena[at:]) {
		s.place(idRef(at + 1))
	}
}

func (s *ids) place(ref idRef) {
	mask := uint64(len(s.table) - 1)
	i := hash(s.entry(ref)) & mask
	for s.table[i] != 0 {
		i = (i + 1) & mask
	}
	s.table[i] = ref
}

func (s *ids) entry(ref idRef) []byte {
	b := s.arena[ref-1:]
	return b[:entryLen(b)]
}

// id is the text of an entry.
func (s *ids) id(ref idRef) schemas.EventID {
	var buf [64]byte
	return schemas.EventID(appendText(buf[:0], s.entry(ref)))
}

// less orders two entries as their texts are ordered.
func (s *ids) less(a, b idRef) bool {
	ea, eb := s.entry(a), s.entry(b)
	if ea[0] == packedUUID && eb[0] == packedUUID {
		return bytes.Compare(ea, eb) < 0 // lower-case hex sorts as its bytes do
	}
	return s.id(a) < s.id(b)
}

// entryLen is the length of the entry that b starts with, or 0 when it is cut short.
func entryLen(b []byte) int {
	if b[0] == packedUUID {
		return 17
	}
	n, w := binary.Uvarint(b)
	if w <= 0 || n > uint64(len(b)) {
		return 0
	}
	return w + int(n)
}

func appendEntry(dst []byte, id schemas.EventID) []byte {
	if len(id) == 36 {
		at := len(dst)
		dst = append(dst, packedUUID)
		if packed, ok := packUUID(dst, id); ok {
			return packed
		}
		dst = dst[:at]
	}
	dst = binary.AppendUvarint(dst, uint64(len(id)))
	return append(dst, id...)
}

// packUUID appends the 16 bytes of a canonical lower-case UUID.
func packUUID(dst []byte, id schemas.EventID) ([]byte, bool) {
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

func appendText(dst, entry []byte) []byte {
	if entry[0] != packedUUID {
		_, w := binary.Uvarint(entry)
		return append(dst, entry[w:]...)
	}
	const digits = "0123456789abcdef"
	for i, c := range entry[1:17] {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			dst = append(dst, '-')
		}
		dst = append(dst, digits[c>>4], digits[c&15])
	}
	return dst
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

// hash needs to spread, not to resist: a clash costs one more comparison.
func hash(entry []byte) uint64 {
	const m = 0x9e3779b97f4a7c15
	h := uint64(len(entry))
	for len(entry) >= 8 {
		hi, lo := bits.Mul64(h^binary.LittleEndian.Uint64(entry), m)
		h = hi ^ lo
		entry = entry[8:]
	}
	var tail uint64
	for _, c := range entry {
		tail = tail<<8 | uint64(c)
	}
	hi, lo := bits.Mul64(h^tail, m)
	return hi ^ lo
}
