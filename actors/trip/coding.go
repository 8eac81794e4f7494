package trip

import (
	"encoding/binary"
	"math"

	"taximeter/schemas"
)

// encoder appends the few shapes that snapshots are made of.
type encoder struct{ b []byte }

func (e *encoder) uint(v uint64)   { e.b = binary.AppendUvarint(e.b, v) }
func (e *encoder) int(v int64)     { e.b = binary.AppendVarint(e.b, v) }
func (e *encoder) float(v float64) { e.b = binary.LittleEndian.AppendUint64(e.b, math.Float64bits(v)) }
func (e *encoder) text(v string)   { e.uint(uint64(len(v))); e.b = append(e.b, v...) }

// name appends an id as text does.
func (e *encoder) name(t *texts, ref idRef) {
	switch {
	case ref == 0:
		e.uint(0)
	case schemas.IsPackedUUID(t.arena[ref-1:]):
		e.uint(36)
		e.b = schemas.AppendUnpacked(e.b, t.entry(ref))
	default:
		e.b = append(e.b, t.entry(ref)...) // length and text it is
	}
}

func (e *encoder) bits(v ...bool) {
	var b byte
	for i, set := range v {
		if set {
			b |= 1 << i
		}
	}
	e.b = append(e.b, b)
}

// decoder reads them back; once bad it yields zeros.
type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) take(n uint64) []byte {
	if d.bad || n > uint64(len(d.b)) {
		d.bad = true
		return nil
	}
	head := d.b[:n]
	d.b = d.b[n:]
	return head
}

func (d *decoder) uint() uint64 {
	v, n := binary.Uvarint(d.b)
	return varint(d, v, n)
}

func (d *decoder) int() int64 {
	v, n := binary.Varint(d.b)
	return varint(d, v, n)
}

func varint[T int64 | uint64](d *decoder, v T, n int) T {
	if d.bad || n <= 0 {
		d.bad = true
		return 0
	}
	d.b = d.b[n:]
	return v
}

// below reads a number that must be less than limit.
func (d *decoder) below(limit uint64) uint64 {
	v := d.uint()
	if v >= limit {
		d.bad = true
		return 0
	}
	return v
}

// id reads an entry of an ids arena.
func (d *decoder) id() schemas.EventID {
	if d.bad || len(d.b) == 0 {
		d.bad = true
		return ""
	}
	n := schemas.PackedLen(d.b)
	if n <= 0 || n > len(d.b) {
		d.bad = true
		return ""
	}
	var buf [64]byte
	id := schemas.EventID(schemas.AppendUnpacked(buf[:0], d.take(uint64(n))))
	d.bad = d.bad || id == ""
	return id
}

func (d *decoder) kind() schemas.Kind { return schemas.Kind(d.below(uint64(schemas.Void) + 1)) }
func (d *decoder) verdict() schemas.Verdict {
	return schemas.Verdict(d.below(uint64(schemas.Rectified) + 1))
}

func (d *decoder) float() float64 {
	if b := d.take(8); b != nil {
		return math.Float64frombits(binary.LittleEndian.Uint64(b))
	}
	return 0
}

func (d *decoder) text() string { return string(d.take(d.uint())) }

func (d *decoder) bits(to ...*bool) {
	if b := d.take(1); b != nil {
		for i := range to {
			*to[i] = b[0]&(1<<i) != 0
		}
	}
}

// count reads how many elements of at least size bytes follow.
func (d *decoder) count(size int) uint64 {
	n := d.uint()
	if n > uint64(len(d.b)/size) {
		d.bad = true
		return 0
	}
	return n
}
