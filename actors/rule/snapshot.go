package rule

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"taximeter/schemas"
)

// snapshotVersion is the first byte of a snapshot. Any change of the format takes a new
// one, and the old ones stay readable.
const snapshotVersion = 1

// ErrSnapshot is what every fault of a snapshot wraps.
var ErrSnapshot = errors.New("not a snapshot of rule memory")

// AppendTo appends the memory to dst:
//
//	version byte, newestPoint, newestEvent,
//	number of episodes, each: kind byte, fired byte, ruleID, onset, onsetAt, count,
//	    latitude and longitude bits (little-endian) if it is a stop,
//	number of charges, each: ruleID, onset
//
// Numbers are unsigned varints of the fewest bytes, strings have their length before them.
// Equal memories give equal bytes.
func (m *Memory) AppendTo(dst []byte) []byte {
	dst = append(dst, snapshotVersion)
	dst = appendMillis(dst, m.newestPoint)
	dst = appendMillis(dst, m.newestEvent)
	open := 0
	for i := range m.episodes {
		if m.episodes[i].kind != none {
			open++
		}
	}
	dst = binary.AppendUvarint(dst, uint64(open))
	for i := range m.episodes {
		if e := &m.episodes[i]; e.kind != none {
			dst = e.appendTo(dst)
		}
	}
	told := m.told()
	dst = binary.AppendUvarint(dst, uint64(len(told)))
	for i := range told {
		dst = appendString(dst, told[i].ruleID)
		dst = appendString(dst, told[i].onset)
	}
	return dst
}

func (e *episode) appendTo(dst []byte) []byte {
	fired := byte(0)
	if e.fired {
		fired = 1
	}
	dst = append(dst, byte(e.kind), fired)
	dst = appendString(dst, e.ruleID)
	var text [64]byte
	dst = appendString(dst, schemas.AppendUnpacked(text[:0], e.onset))
	dst = appendMillis(dst, e.onsetAt)
	dst = binary.AppendUvarint(dst, uint64(e.count))
	if e.kind == stop {
		dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(e.place.Lat))
		dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(e.place.Lon))
	}
	return dst
}

func appendMillis(dst []byte, t schemas.Millis) []byte { return binary.AppendUvarint(dst, uint64(t)) }

func appendString[S ~string | ~[]byte](dst []byte, s S) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(s)))
	return append(dst, s...)
}

// Decode reads what AppendTo wrote at the start of b and gives what follows it. Nothing in
// the memory aliases b. Bytes that AppendTo could not have written are an error.
func Decode(b []byte) (m Memory, rest []byte, err error) {
	r := reader{b: b}
	if v := r.byte(); v != snapshotVersion {
		r.fail("version %d", v)
	}
	m.newestPoint, m.newestEvent = r.millis(), r.millis()
	// Grown one by one: a count is not trusted with memory.
	for range r.uvarint() {
		if r.err != nil {
			break
		}
		e := r.episode()
		if n := len(m.episodes); n > 0 && m.episodes[n-1].ruleID >= e.ruleID {
			r.fail("rule %q out of order", e.ruleID)
		}
		m.episodes = append(m.episodes, e)
	}
	charges := r.uvarint()
	if charges > maxCharges {
		r.fail("%d charges", charges)
	}
	for range charges {
		if r.err != nil {
			break
		}
		m.setTold(append(m.told(), charge{string(r.bytes()), schemas.EventID(r.bytes())}))
	}
	if r.err != nil {
		return Memory{}, b, fmt.Errorf("%w: %w at byte %d", ErrSnapshot, r.err, len(b)-len(r.b))
	}
	return m, r.b, nil
}

// reader takes a snapshot apart. After its first fault it gives zeros.
type reader struct {
	b   []byte
	err error
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

func (r *reader) take(n uint64) []byte {
	if r.err == nil && n > uint64(len(r.b)) {
		r.fail("it ends early")
	}
	if r.err != nil {
		return nil
	}
	p := r.b[:n]
	r.b = r.b[n:]
	return p
}

func (r *reader) byte() byte {
	if p := r.take(1); len(p) == 1 {
		return p[0]
	}
	return 0
}

func (r *reader) uint64() uint64 {
	if p := r.take(8); len(p) == 8 {
		return binary.LittleEndian.Uint64(p)
	}
	return 0
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 || n > 1 && r.b[n-1] == 0 {
		r.fail("a number is broken")
		return 0
	}
	r.take(uint64(n))
	return v
}

func (r *reader) bytes() []byte { return r.take(r.uvarint()) }

// millis reads an instant that is known or zero: never before 1970, never an end of time.
func (r *reader) millis() schemas.Millis {
	v := r.uvarint()
	if v >= math.MaxInt64 {
		r.fail("instant %d", v)
		return 0
	}
	return schemas.Millis(v)
}

func (r *reader) episode() (e episode) {
	e.kind = kind(r.byte())
	if e.kind&(e.kind-1) != 0 || e.kind == none || e.kind > lastKind || e.kind == doubleCharge {
		r.fail("kind %d", e.kind)
	}
	fired := r.byte()
	if fired > 1 {
		r.fail("mark %d", fired)
	}
	e.fired = fired == 1
	e.ruleID = string(r.bytes())
	e.onset = schemas.AppendPacked(nil, schemas.EventID(r.bytes()))
	e.onsetAt = r.millis()
	count := r.uvarint()
	if count > math.MaxInt32 {
		r.fail("count %d", count)
	}
	e.count = int32(count)
	if e.kind == stop {
		e.place.Lat = math.Float64frombits(r.uint64())
		e.place.Lon = math.Float64frombits(r.uint64())
	}
	return e
}
