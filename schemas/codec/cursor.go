package codec

import (
	"fmt"
	"math"
	"unicode/utf8"
)

// cursor reads Avro primitives off an encoded value, strictly. The first fault stays in
// err; what is read after it means nothing.
//
// The value is held as a string so that parts of it can be handed out without a copy.
type cursor struct {
	s   string
	i   int // next byte
	err error

	empties int // zero-byte items met; see skip.go
}

const (
	maxLength  = math.MaxInt32 // no Kafka record is larger, so no length or count may be
	maxDepth   = 256           // of values in values; recursive writer schemas are unbounded
	maxEmpties = 1 << 16       // items that take no bytes, so that nothing else bounds them
)

func (c *cursor) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

func (c *cursor) left() int { return len(c.s) - c.i }

// long reads a zigzag varint of at most 64 bits in at most ten bytes.
func (c *cursor) long() int64 {
	if c.i < len(c.s) && c.s[c.i] < 0x80 {
		u := uint64(c.s[c.i])
		c.i++
		return int64(u>>1) ^ -int64(u&1)
	}
	return c.longVarint(10)
}

// int reads a zigzag varint of at most 32 bits in at most five bytes.
func (c *cursor) int() int32 {
	if c.i < len(c.s) && c.s[c.i] < 0x80 {
		u := uint32(c.s[c.i])
		c.i++
		return int32(u>>1) ^ -int32(u&1)
	}
	v := c.longVarint(5)
	if v != int64(int32(v)) {
		c.fail(fmt.Errorf("%w: %d exceeds 32 bits", ErrVarint, v))
	}
	return int32(v)
}

func (c *cursor) longVarint(most int) int64 {
	u, s := uint64(0), c.s[c.i:]
	for n := range most {
		if n >= len(s) {
			c.fail(fmt.Errorf("%w: inside an integer", ErrTruncated))
			return 0
		}
		b := s[n]
		if n == 9 && b > 1 {
			break
		}
		u |= uint64(b&0x7f) << (7 * n & 63)
		if b < 0x80 {
			c.i += n + 1
			return int64(u>>1) ^ -int64(u&1)
		}
	}
	bits := 64
	if most == 5 {
		bits = 32
	}
	c.fail(fmt.Errorf("%w: more than %d bits", ErrVarint, bits))
	return 0
}

// index reads the number of an enum symbol or of a union branch, in [0, n).
func (c *cursor) index(n int, outOfRange error) int {
	i := c.int()
	if uint32(i) >= uint32(n) && c.err == nil {
		c.fail(fmt.Errorf("%w: %d of %d", outOfRange, i, n))
	}
	if c.err != nil {
		return 0
	}
	return int(i)
}

func (c *cursor) boolean() bool {
	b := c.take(1)
	if b != "" && b[0] > 1 {
		c.fail(fmt.Errorf("%w: %d", ErrBoolean, b[0]))
	}
	return b == "\x01"
}

func (c *cursor) float() float32 {
	b := c.take(4)
	if len(b) < 4 {
		return 0
	}
	return math.Float32frombits(uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24)
}

func (c *cursor) double() float64 {
	b := c.take(8)
	if len(b) < 8 {
		return 0
	}
	return math.Float64frombits(word(b))
}

// take hands out the next n bytes, n >= 0.
func (c *cursor) take(n int) string {
	if n > c.left() {
		c.fail(fmt.Errorf("%w: %d bytes needed, %d left", ErrTruncated, n, c.left()))
		return ""
	}
	b := c.s[c.i : c.i+n]
	c.i += n
	return b
}

// bytes reads a length and hands out as many bytes.
func (c *cursor) bytes() string {
	if n, head := shortLength(c.s, c.i); head > 0 {
		c.i += head
		return c.take(n)
	}
	n := c.long()
	if uint64(n) > maxLength {
		c.fail(fmt.Errorf("%w: %d bytes", ErrLength, n))
	}
	if c.err != nil {
		return ""
	}
	return c.take(int(n))
}

// shortLength reads the length at s[i:] if it takes one byte or two; head is that number,
// else 0.
func shortLength(s string, i int) (n, head int) {
	if i < len(s) && s[i]&0x81 == 0 {
		return int(s[i] >> 1), 1
	}
	if i+1 < len(s) && s[i]&0x81 == 0x80 && s[i+1] < 0x80 {
		return int(s[i]&0x7f)>>1 | int(s[i+1])<<6, 2
	}
	return 0, 0
}

func (c *cursor) text() string {
	s := c.bytes()
	if !validText(s) {
		c.fail(ErrUTF8)
	}
	return s
}

// validText is utf8.ValidString, twice as fast on the short ASCII that ids and words are made of.
func validText(s string) bool {
	var bits uint64
	switch n := len(s); {
	case n >= 8:
		bits = word(s[n-8:]) // overlaps the last whole word
		for i := 0; i <= n-8; i += 8 {
			bits |= word(s[i : i+8])
		}
	case n >= 4:
		bits = halfWord(s) | halfWord(s[n-4:])
	default:
		for i := range n {
			bits |= uint64(s[i])
		}
	}
	return bits&0x8080808080808080 == 0 || utf8.ValidString(s)
}

// halfWord is the first four bytes, little-endian: one load.
func halfWord(b string) uint64 {
	_ = b[3]
	return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24
}

// word is the first eight bytes, little-endian: one load.
func word(b string) uint64 {
	_ = b[7]
	return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
		uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
}

// block reads the head of an array's or map's next block: its number of items, 0 after
// the last, and the offset where it must end, or -1 where the writer did not say. The
// number is only a promise: allocate by items read.
func (c *cursor) block() (count, end int) {
	n := c.long()
	end = -1
	if n < 0 {
		n = -n // the least integer stays negative and is refused below
		size := c.long()
		if uint64(size) > maxLength {
			c.fail(fmt.Errorf("%w: block of %d bytes", ErrLength, size))
		} else if size > int64(c.left()) {
			c.fail(fmt.Errorf("%w: block of %d bytes, %d left", ErrTruncated, size, c.left()))
		}
		end = c.i + int(size)
	}
	if uint64(n) > maxLength {
		c.fail(fmt.Errorf("%w: block of %d items", ErrLength, n))
	}
	if c.err != nil {
		return 0, -1
	}
	return int(n), end
}

// closeBlock holds the writer to the end it promised.
func (c *cursor) closeBlock(end int) {
	if end >= 0 && c.i != end {
		c.fail(fmt.Errorf("%w: block ends at byte %d, its items at %d", ErrLength, end, c.i))
	}
}
