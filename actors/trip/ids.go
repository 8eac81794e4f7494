package trip

import (
	"bytes"
	"encoding/binary"
	"math/bits"

	"taximeter/schemas"
)

// texts holds event ids in one piece of memory without pointers. An id is named by its
// place there for as long as the trip lives.
type texts struct {
	arena []byte // entries: 0 and 16 bytes for a canonical UUID, else uvarint length and text
}

// ids is the set of a trip's telemetry event ids: exact, without an allocation per id.
type ids struct {
	texts
	table []idRef // open addressing, 0 = free; a power of two long; nil = few ids, looked through one by one
	count int
}

// idRef is an entry's place in its arena, plus one; 0 = no id.
type idRef uint32

const (
	packedUUID = 0  // first byte of an entry; no id is empty, so no length is 0
	packedLen  = 17 // of such an entry

	fewIDs = 16 // three quarters of so many need no table
)

// find looks id up.
func (s *ids) find(id schemas.EventID) (idRef, bool) {
	var buf [64]byte
	return s.findEntry(appendEntry(buf[:0], id))
}

func (s *ids) findEntry(entry []byte) (idRef, bool) {
	if s.table == nil {
		for at := 0; at < len(s.arena); at += entryLen(s.arena[at:]) {
			if bytes.HasPrefix(s.arena[at:], entry) {
				return idRef(at + 1), true
			}
		}
		return 0, false
	}
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
	var buf [64]byte
	return s.addEntry(appendEntry(buf[:0], id))
}

func (s *ids) addEntry(entry []byte) idRef {
	ref := s.texts.addEntry(entry)
	s.count++
	switch {
	case s.count*4 > max(len(s.table), fewIDs)*3:
		s.grow()
	case s.table != nil:
		s.place(ref)
	}
	return ref
}

// keep finds an entry or adds it.
func (s *ids) keep(entry []byte) idRef {
	if ref, known := s.findEntry(entry); known {
		return ref
	}
	return s.addEntry(entry)
}

func (s *ids) grow() {
	s.table = make([]idRef, 2*max(len(s.table), fewIDs))
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

// add appends an id, which is not empty.
func (t *texts) add(id schemas.EventID) idRef {
	var buf [64]byte
	return t.addEntry(appendEntry(buf[:0], id))
}

func (t *texts) addEntry(entry []byte) idRef {
	ref := idRef(len(t.arena) + 1)
	t.arena = append(roomFor(t.arena, packedLen, 2*packedLen), entry...)
	return ref
}

func (t *texts) entry(ref idRef) []byte {
	b := t.arena[ref-1:]
	return b[:entryLen(b)]
}

// is reports whether an entry is the one given; ref may be 0.
func (t *texts) is(ref idRef, entry []byte) bool {
	return ref != 0 && bytes.HasPrefix(t.arena[ref-1:], entry)
}

// id is the text of an entry; of no id "".
func (t *texts) id(ref idRef) schemas.EventID {
	if ref == 0 {
		return ""
	}
	var buf [64]byte
	return schemas.EventID(appendText(buf[:0], t.entry(ref)))
}

// less orders two entries as their texts are ordered.
func (t *texts) less(a, b idRef) bool {
	ea, eb := t.entry(a), t.entry(b)
	if ea[0] == packedUUID && eb[0] == packedUUID {
		return bytes.Compare(ea, eb) < 0 // lower-case hex sorts as its bytes do
	}
	return t.id(a) < t.id(b)
}

// roomFor makes room for n more elements. A trip's slices grow by a quarter, or by the
// least that is worth a copy: doubling, as append does, would leave a third unused.
func roomFor[T any](s []T, n, least int) []T {
	if cap(s)-len(s) >= n {
		return s
	}
	grown := make([]T, len(s), len(s)+max(n, least, len(s)/4))
	copy(grown, s)
	return grown
}

// entryLen is the length of the entry that b starts with, or 0 when it is cut short.
func entryLen(b []byte) int {
	if b[0] == packedUUID {
		return packedLen
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
