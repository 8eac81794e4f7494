package edge

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"taximeter/schemas"
)

// The parsers of single JSON values. Each takes one whole valid value and gives its exact
// meaning or an error that reads well after "field: ".

func parseText[S ~string](v jsontext.Value) (S, error) {
	if v.Kind() != '"' {
		return "", wrongType("a string", v)
	}
	if bytes.IndexByte(v, '\\') < 0 {
		return S(v[1 : len(v)-1]), nil
	}
	text, err := jsontext.AppendUnquote(nil, v)
	return S(text), err
}

// parseInstant reads epoch milliseconds or RFC 3339, of which parts of a millisecond are
// cut off downwards.
func parseInstant(v jsontext.Value) (schemas.Millis, error) {
	switch v.Kind() {
	case '0':
		ms, err := strconv.ParseInt(string(v), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("not whole epoch milliseconds: %s", shorten(v))
		}
		return schemas.Millis(ms), nil
	case '"':
		text, err := parseText[string](v)
		if err != nil {
			return 0, err
		}
		t, err := time.Parse(time.RFC3339, strings.ToUpper(text)) // RFC 3339 allows t and z, the library does not
		if err != nil {
			return 0, fmt.Errorf("neither epoch milliseconds nor RFC 3339 (such as 2025-11-24T13:20:00.123Z): %s", shorten(v))
		}
		return schemas.Millis(t.UnixMilli()), nil
	}
	return 0, wrongType("epoch milliseconds or an RFC 3339 string", v)
}

func parseCents(v jsontext.Value) (schemas.Cents, error) {
	d, err := parseDecimal(v, schemas.CentsScale, int64(schemas.MaxCents))
	return schemas.Cents(d), err
}

func parseMils(v jsontext.Value) (schemas.Mils, error) {
	d, err := parseDecimal(v, schemas.MilsScale, int64(schemas.MaxMils))
	return schemas.Mils(d), err
}

func parseMicros(v jsontext.Value) (schemas.Micros, error) {
	d, err := parseDecimal(v, schemas.MicrosScale, int64(schemas.MaxMicros))
	return schemas.Micros(d), err
}

// parseDecimal takes a string, or a number by its exact text: never through a float.
func parseDecimal(v jsontext.Value, scale int, max int64) (int64, error) {
	text := string(v)
	switch v.Kind() {
	case '"':
		var err error
		if text, err = parseText[string](v); err != nil {
			return 0, err
		}
	case '0':
	default:
		return 0, wrongType("a decimal in a string", v)
	}
	if len(text) > mostShown { // no decimal of the contracts; the message must stay short
		return 0, fmt.Errorf("%w: %s", schemas.ErrDecimal, shorten(v))
	}
	return schemas.ParseDecimal(text, scale, max)
}

func parseFloat64(v jsontext.Value) (float64, error) { return parseFloat(v, 64) }

func parseFloat32(v jsontext.Value) (float32, error) {
	f, err := parseFloat(v, 32)
	return float32(f), err
}

// parseFloat takes numbers, and the three strings that protobuf's JSON writes for what
// JSON numbers cannot say but Avro can: without them a file could not hold every event.
func parseFloat(v jsontext.Value, bits int) (float64, error) {
	switch v.Kind() {
	case '0':
		f, err := strconv.ParseFloat(string(v), bits)
		if errors.Is(err, strconv.ErrRange) {
			return 0, fmt.Errorf("number out of range: %s", shorten(v))
		}
		return f, err
	case '"':
		switch string(v) {
		case `"NaN"`:
			return math.NaN(), nil
		case `"Infinity"`:
			return math.Inf(1), nil
		case `"-Infinity"`:
			return math.Inf(-1), nil
		}
	}
	return 0, wrongType("a number", v)
}

func parseInt32(v jsontext.Value) (int32, error) {
	n, err := parseInt(v, 32)
	return int32(n), err
}

func parseInt64(v jsontext.Value) (int64, error) { return parseInt(v, 64) }

func parseInt(v jsontext.Value, bits int) (int64, error) {
	if v.Kind() != '0' {
		return 0, wrongType("a whole number", v)
	}
	n, err := strconv.ParseInt(string(v), 10, bits)
	if err != nil {
		return 0, fmt.Errorf("not a whole number of %d bits: %s", bits, shorten(v))
	}
	return n, nil
}

func parseBool(v jsontext.Value) (bool, error) {
	if k := v.Kind(); k != 't' && k != 'f' {
		return false, wrongType("true or false", v)
	}
	return v.Kind() == 't', nil
}

func wrongType(want string, v jsontext.Value) error {
	return fmt.Errorf("must be %s, not %s", want, shorten(v))
}

// mostShown is how many bytes of a value messages show: they end up in Kafka headers.
const mostShown = 60

// shorten quotes a value for a message without flooding it.
func shorten(v []byte) string {
	if len(v) <= mostShown {
		return string(v)
	}
	return string(bytes.ToValidUTF8(v[:mostShown], nil)) + "..."
}
