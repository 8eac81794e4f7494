package codec

import (
	"fmt"
	"math/big"
	"strings"

	"taximeter/schemas"
)

// maxScale of a writer's decimal; the widest decimals in use (BigQuery's) have 76 digits.
const maxScale = 76

// rescale turns a writer's unscaled value into one of the contract's scale, exactly.
type rescale struct {
	places int      // the writer gives so many decimal places more than the contract; may be negative
	factor int64    // 10^|places| where it fits 64 bits, else 0
	max    int64    // greatest |value| of the contract
	wide   *big.Int // 10^places, for values of more than 64 bits; nil unless places > 0
}

func newRescale(from, to int, max int64) rescale {
	r := rescale{places: from - to, max: max}
	p := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(abs(r.places))), nil)
	if p.IsInt64() {
		r.factor = p.Int64()
	}
	if r.places > 0 {
		r.wide = p
	}
	return r
}

// decimal reads a two's complement big-endian integer.
func (c *cursor) decimal(raw string, r *rescale) int64 {
	if raw == "" {
		c.fail(fmt.Errorf("%w: no bytes", ErrDecimal))
		return 0
	}
	raw = trimSign(raw)
	v, rest := int64(0), int64(0)
	switch {
	case len(raw) > 8:
		return c.wideDecimal(raw, r)
	case r.places < 0:
		if v = smallInt(raw); v > r.max/r.factor || v < -r.max/r.factor {
			c.failDecimal(raw, r)
			return 0
		}
		v *= r.factor
	case r.factor == 0: // a power of ten beyond 64 bits divides no 64-bit value but 0
		rest = smallInt(raw)
	default:
		v, rest = smallInt(raw)/r.factor, smallInt(raw)%r.factor
	}
	if rest != 0 || v > r.max || v < -r.max {
		c.failDecimal(raw, r)
		return 0
	}
	return v
}

// wideDecimal serves values of more than 64 bits: only trailing zeros make them fit.
func (c *cursor) wideDecimal(raw string, r *rescale) int64 {
	if r.wide == nil || len(raw) > 8+len(r.wide.Bytes()) {
		c.failDecimal(raw, r)
		return 0
	}
	q, rest := new(big.Int).QuoRem(bigInt(raw), r.wide, new(big.Int))
	if rest.Sign() != 0 || !q.IsInt64() || q.Int64() > r.max || q.Int64() < -r.max {
		c.failDecimal(raw, r)
		return 0
	}
	return q.Int64()
}

func (c *cursor) failDecimal(raw string, r *rescale) {
	if len(raw) > 40 {
		c.fail(fmt.Errorf("%w: %d bytes long", ErrDecimal, len(raw)))
		return
	}
	c.fail(fmt.Errorf("%w: unscaled %d has %d places more than the contract or exceeds ±%d of it", ErrDecimal, bigInt(raw), r.places, r.max))
}

// trimSign drops the leading bytes that only repeat the sign.
func trimSign(raw string) string {
	for len(raw) > 1 && (raw[0] == 0 && raw[1] < 0x80 || raw[0] == 0xff && raw[1] >= 0x80) {
		raw = raw[1:]
	}
	return raw
}

// smallInt reads 1 to 8 bytes.
func smallInt(raw string) int64 {
	v := int64(int8(raw[0]))
	for i := 1; i < len(raw); i++ {
		v = v<<8 | int64(raw[i])
	}
	return v
}

func bigInt(raw string) *big.Int {
	v := new(big.Int).SetBytes([]byte(raw))
	if raw[0] >= 0x80 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(8*len(raw))))
	}
	return v
}

// formatDecimal writes a decimal of any size with exactly scale places.
func formatDecimal(raw string, scale int) string {
	if raw = trimSign(raw); len(raw) <= 8 && scale > 0 {
		return schemas.FormatDecimal(smallInt(raw), scale)
	}
	v := bigInt(raw)
	digits, sign := new(big.Int).Abs(v).String(), ""
	if v.Sign() < 0 {
		sign = "-"
	}
	if len(digits) <= scale {
		digits = strings.Repeat("0", scale+1-len(digits)) + digits
	}
	if scale == 0 {
		return sign + digits
	}
	return sign + digits[:len(digits)-scale] + "." + digits[len(digits)-scale:]
}

func abs(n int) int {
	if n < 0 {
		return -n
	}
	return n
}
