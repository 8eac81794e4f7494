package codec

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"unicode/utf8"
)

// writer appends Avro primitives of a contract. The first fault stays in err.
type writer struct {
	b   []byte
	err error
}

func (w *writer) fail(field, format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf("%w: field %s: %s", ErrEncode, field, fmt.Sprintf(format, args...))
	}
}

// finish gives the value, or dst as it was.
func (w *writer) finish(dst []byte) ([]byte, error) {
	if w.err != nil {
		return dst, w.err
	}
	return w.b, nil
}

func (w *writer) long(v int64) { w.b = binary.AppendVarint(w.b, v) }

func (w *writer) int(field string, v int64) {
	if v != int64(int32(v)) {
		w.fail(field, "%d exceeds 32 bits", v)
	}
	w.long(v)
}

func (w *writer) boolean(v bool) {
	if v {
		w.b = append(w.b, 1)
	} else {
		w.b = append(w.b, 0)
	}
}

func (w *writer) float(v float32) {
	w.b = binary.LittleEndian.AppendUint32(w.b, math.Float32bits(v))
}

func (w *writer) double(v float64) {
	w.b = binary.LittleEndian.AppendUint64(w.b, math.Float64bits(v))
}

func (w *writer) text(field, s string) {
	if !utf8.ValidString(s) {
		w.fail(field, "%q is not UTF-8", s)
	}
	w.long(int64(len(s)))
	w.b = append(w.b, s...)
}

// symbol writes an enum; symbols are the contract's, in its order.
func (w *writer) symbol(field, s string, symbols []string) {
	i := slices.Index(symbols, s)
	if i < 0 {
		w.fail(field, "%q is none of %v", s, symbols)
	}
	w.long(int64(i))
}

// decimal writes the shortest two's complement big-endian form.
func (w *writer) decimal(field string, v, max int64) {
	if v > max || v < -max {
		w.fail(field, "unscaled %d exceeds ±%d", v, max)
	}
	n := 1
	for n < 8 && v>>(8*n-1) != 0 && v>>(8*n-1) != -1 {
		n++
	}
	w.long(int64(n))
	for i := n - 1; i >= 0; i-- {
		w.b = append(w.b, byte(v>>(8*i)))
	}
}

// nullable starts a union of null and one type more, and reports whether the value follows.
func nullable[T any](w *writer, v *T) bool {
	if v == nil {
		w.long(0)
		return false
	}
	w.long(1)
	return true
}

func nullableText[S ~string](w *writer, field string, s *S) {
	if nullable(w, s) {
		w.text(field, string(*s))
	}
}

// texts writes a nullable array; nil is null.
func (w *writer) texts(field string, all []string) {
	if all == nil {
		w.long(0)
		return
	}
	w.long(1)
	if len(all) > 0 {
		w.long(int64(len(all)))
	}
	for _, s := range all {
		w.text(field, s)
	}
	w.long(0)
}

// textMap writes the keys in order, so that equal maps have equal bytes.
func (w *writer) textMap(field string, m map[string]string) {
	if len(m) > 0 {
		w.long(int64(len(m)))
	}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		w.text(field, k)
		w.text(field, m[k])
	}
	w.long(0)
}
