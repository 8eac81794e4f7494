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
	arena []byte // entries: ids as schemas.AppendPacked writes them, none empty
}

// ids is the set of a trip's telemetry event ids: exact, without an allocation per id.
type ids struct {
	texts
	index *index // nil = few ids, looked through one by one
}

// index finds ids by their hash.
type index struct {
	table []idRef // open addressing, 0 = free; a power of two long
	count int
}

// idRef is an entry's place in its arena, plus one; 0 = no id.
type idRef uint32

const (
	fewIDs = 12 // need no index
	// leastArena is the room that an arena begins with and grows by: of three UUIDs.
	leastArena = 64
)

// find looks id up.
func (s *ids) find(id schemas.EventID) (idRef, bool) {
	var buf [64]byte
	return s.findEntry(schemas.AppendPacked(buf[:0], id))
}

func (s *ids) findEntry(entry []byte) (idRef, bool) {
	x := s.index
	if x == nil {
		for at := 0; at < len(s.arena); at += schemas.PackedLen(s.arena[at:]) {
			if bytes.HasPrefix(s.arena[at:], entry) {
				return idRef(at + 1), true
			}
		}
		return 0, false
	}
	for i := hash(entry) & uint64(len(x.table)-1); ; i = (i + 1) & uint64(len(x.table)-1) {
		ref := x.table[i]
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
	return s.addEntry(schemas.AppendPacked(buf[:0], id))
}

func (s *ids) addEntry(entry []byte) idRef {
	ref := s.texts.addEntry(entry)
	switch x := s.index; {
	case x == nil && s.len() > fewIDs:
		s.index = &index{}
		s.grow(16)
	case x == nil:
	case (x.count+1)*4 > len(x.table)*3:
		s.grow(len(x.table))
	default:
		s.place(ref)
	}
	return ref
}

// len is how many ids there are.
func (s *ids) len() (n int) {
	if s.index != nil {
		return s.index.count
	}
	for at := 0; at < len(s.arena); at += schemas.PackedLen(s.arena[at:]) {
		n++
	}
	return n
}

// keep finds an entry or adds it.
func (s *ids) keep(entry []byte) idRef {
	if ref, known := s.findEntry(entry); known {
		return ref
	}
	return s.addEntry(entry)
}

// grow makes an index of twice as many places.
func (s *ids) grow(places int) {
	*s.index = index{table: make([]idRef, 2*places)}
	for at := 0; at < len(s.arena); at += schemas.PackedLen(s.arena[at:]) {
		s.place(idRef(at + 1))
	}
}

func (s *ids) place(ref idRef) {
	x := s.index
	mask := uint64(len(x.table) - 1)
	i := hash(s.entry(ref)) & mask
	for x.table[i] != 0 {
		i = (i + 1) & mask
	}
	x.table[i] = ref
	x.count++
}

// add appends an id, which is not empty.
func (t *texts) add(id schemas.EventID) idRef {
	var buf [64]byte
	return t.addEntry(schemas.AppendPacked(buf[:0], id))
}

func (t *texts) addEntry(entry []byte) idRef {
	ref := idRef(len(t.arena) + 1)
	t.arena = append(roomFor(t.arena, len(entry), leastArena), entry...)
	return ref
}

func (t *texts) entry(ref idRef) []byte {
	b := t.arena[ref-1:]
	return b[:schemas.PackedLen(b)]
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
	return schemas.EventID(schemas.AppendUnpacked(buf[:0], t.entry(ref)))
}

// less orders two entries as their texts are ordered.
func (t *texts) less(a, b idRef) bool {
	ea, eb := t.entry(a), t.entry(b)
	if schemas.IsPackedUUID(ea) && schemas.IsPackedUUID(eb) {
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
