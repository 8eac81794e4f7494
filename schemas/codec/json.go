package codec

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// Printer shows values of one writer schema as JSON, for people.
type Printer struct{ root *node }

// NewPrinter compiles a writer schema; references as in Reader.Learn.
func NewPrinter(writerSchema string, references ...string) (*Printer, error) {
	root, err := parse(writerSchema, references)
	if err != nil {
		return nil, err
	}
	return &Printer{root: root}, nil
}

// Append writes a value as JSON behind dst: keys in the schema's order, unions as their
// value alone, decimals as strings, timestamps as the number written (epoch milliseconds
// in our contracts), bytes in base64, and numbers that JSON lacks as "NaN", "Infinity"
// and "-Infinity".
func (p *Printer) Append(dst, value []byte) ([]byte, error) {
	if _, err := SchemaID(value); err != nil {
		return dst, err
	}
	c := cursor{s: string(value[frameLen:])}
	out := c.appendJSON(dst, p.root, 0)
	if c.err != nil {
		return dst, fmt.Errorf("byte %d: %w", c.i, c.err)
	}
	if c.left() != 0 {
		return dst, fmt.Errorf("%w: %d", ErrTrailing, c.left())
	}
	return out, nil
}

func (c *cursor) appendJSON(b []byte, n *node, depth int) []byte {
	if n.min == 0 {
		if c.empties++; c.empties > maxEmpties {
			c.fail(fmt.Errorf("%w: more than %d values that take no bytes", ErrLength, maxEmpties))
			return b
		}
	}
	switch n.kind {
	case kindNull:
		return append(b, "null"...)
	case kindBoolean:
		return strconv.AppendBool(b, c.boolean())
	case kindInt:
		return strconv.AppendInt(b, int64(c.int()), 10)
	case kindLong:
		return strconv.AppendInt(b, c.long(), 10)
	case kindFloat:
		return appendReal(b, float64(c.float()), 32)
	case kindDouble:
		return appendReal(b, c.double(), 64)
	case kindString:
		return appendText(b, c.text())
	case kindBytes:
		return c.appendBytes(b, n, c.bytes())
	case kindFixed:
		return c.appendBytes(b, n, c.take(n.size))
	case kindEnum:
		if i := c.index(len(n.symbols), ErrEnumIndex); c.err == nil {
			return appendText(b, n.symbols[i])
		}
		return b
	}
	return c.appendNested(b, n, depth+1)
}

func (c *cursor) appendNested(b []byte, n *node, depth int) []byte {
	if c.tooDeep(depth) {
		return b
	}
	switch n.kind {
	case kindUnion:
		if i := c.index(len(n.items), ErrUnionIndex); c.err == nil {
			return c.appendJSON(b, n.items[i], depth)
		}
		return b
	case kindRecord:
		b = append(b, '{')
		for i, it := range n.items {
			b = append(appendText(comma(b, i), n.names[i]), ':')
			if b = c.appendJSON(b, it, depth); c.err != nil {
				return b
			}
		}
		return append(b, '}')
	}
	open, shut := byte('['), byte(']')
	if n.kind == kindMap {
		open, shut = '{', '}'
	}
	b = append(b, open)
	for written := 0; ; {
		count, end := c.block()
		if count == 0 {
			return append(b, shut)
		}
		for range count {
			b = comma(b, written)
			written++
			if n.kind == kindMap {
				b = append(appendText(b, c.text()), ':')
			}
			if b = c.appendJSON(b, n.items[0], depth); c.err != nil {
				return b
			}
		}
		c.closeBlock(end)
	}
}

func (c *cursor) appendBytes(b []byte, n *node, raw string) []byte {
	if n.places == 0 {
		b = append(b, '"')
		b = base64.StdEncoding.AppendEncode(b, []byte(raw))
		return append(b, '"')
	}
	// A digit takes 0.42 bytes: what exceeds half of one per digit is no such decimal, and
	// printing it could take very long.
	if raw == "" || len(trimSign(raw)) > n.places/2+1 {
		c.fail(fmt.Errorf("%w: %d bytes for %d digits", ErrDecimal, len(raw), n.places))
		return b
	}
	return appendText(b, formatDecimal(raw, n.scale))
}

func comma(b []byte, i int) []byte {
	if i > 0 {
		return append(b, ',')
	}
	return b
}

func appendText(b []byte, s string) []byte {
	quoted, _ := json.Marshal(s) // a string cannot fail
	return append(b, quoted...)
}

func appendReal(b []byte, v float64, bits int) []byte {
	switch {
	case math.IsNaN(v):
		return append(b, `"NaN"`...)
	case math.IsInf(v, 1):
		return append(b, `"Infinity"`...)
	case math.IsInf(v, -1):
		return append(b, `"-Infinity"`...)
	case v != 0 && (math.Abs(v) < 1e-6 || math.Abs(v) >= 1e21):
		return strconv.AppendFloat(b, v, 'e', -1, bits)
	}
	return strconv.AppendFloat(b, v, 'f', -1, bits)
}
