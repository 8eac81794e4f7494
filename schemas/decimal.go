package schemas

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Decimals of the contracts as scaled integers. In JSON they are strings.
type (
	Cents  int64 // decimal(12,2): money, 1/100 of the currency
	Mils   int64 // decimal(6,3): the surge multiplier, 1/1000
	Micros int64 // decimal(18,6): tariff prices, 1/1,000,000
)

const (
	CentsScale  = 2
	MilsScale   = 3
	MicrosScale = 6

	// Largest absolute unscaled values that the Avro decimals hold.
	MaxCents  Cents  = 999_999_999_999
	MaxMils   Mils   = 999_999
	MaxMicros Micros = 999_999_999_999_999_999

	// OneMils is a multiplier of exactly 1.
	OneMils Mils = 1000
)

// ErrDecimal is what every fault of a decimal's text wraps.
var ErrDecimal = errors.New("not a decimal")

// ParseDecimal reads text such as "-12.5" as an integer scaled by 10^scale, exactly:
// more significant places than scale, or |value| above max, are errors.
func ParseDecimal(text string, scale int, max int64) (int64, error) {
	digits, negative := text, false
	if strings.HasPrefix(digits, "-") {
		digits, negative = digits[1:], true
	}
	whole, frac, _ := strings.Cut(digits, ".")
	if whole == "" || strings.HasSuffix(digits, ".") {
		return 0, fmt.Errorf("%w: %q", ErrDecimal, text)
	}
	trimmed := strings.TrimRight(frac, "0")
	if len(trimmed) > scale {
		return 0, fmt.Errorf("%w with at most %d places: %q", ErrDecimal, scale, text)
	}
	v := int64(0)
	for _, c := range whole + trimmed + strings.Repeat("0", scale-len(trimmed)) {
		if c < '0' || c > '9' {
			return 0, fmt.Errorf("%w: %q", ErrDecimal, text)
		}
		if v > (math.MaxInt64-9)/10 {
			return 0, fmt.Errorf("%w in range: %q", ErrDecimal, text)
		}
		v = v*10 + int64(c-'0')
	}
	if strings.Trim(frac, "0123456789") != "" {
		return 0, fmt.Errorf("%w: %q", ErrDecimal, text)
	}
	if v > max {
		return 0, fmt.Errorf("%w in range: %q", ErrDecimal, text)
	}
	if negative {
		v = -v
	}
	return v, nil
}

// FormatDecimal writes v / 10^scale with exactly scale places.
func FormatDecimal(v int64, scale int) string {
	sign := ""
	u := uint64(v)
	if v < 0 {
		sign, u = "-", -u
	}
	s := strconv.FormatUint(u, 10)
	if len(s) <= scale {
		s = strings.Repeat("0", scale+1-len(s)) + s
	}
	return sign + s[:len(s)-scale] + "." + s[len(s)-scale:]
}

func (c Cents) String() string  { return FormatDecimal(int64(c), CentsScale) }
func (m Mils) String() string   { return FormatDecimal(int64(m), MilsScale) }
func (m Micros) String() string { return FormatDecimal(int64(m), MicrosScale) }

func (c Cents) MarshalText() ([]byte, error)  { return []byte(c.String()), nil }
func (m Mils) MarshalText() ([]byte, error)   { return []byte(m.String()), nil }
func (m Micros) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

func (c *Cents) UnmarshalText(b []byte) error {
	v, err := ParseDecimal(string(b), CentsScale, int64(MaxCents))
	*c = Cents(v)
	return err
}

func (m *Mils) UnmarshalText(b []byte) error {
	v, err := ParseDecimal(string(b), MilsScale, int64(MaxMils))
	*m = Mils(v)
	return err
}

func (m *Micros) UnmarshalText(b []byte) error {
	v, err := ParseDecimal(string(b), MicrosScale, int64(MaxMicros))
	*m = Micros(v)
	return err
}
