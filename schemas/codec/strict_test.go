package codec

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"taximeter/schemas"
)

// telemetryWith is a telemetry writer with one field more in front, and the rest of a
// valid value behind it.
func telemetryWith(field string) (string, string) {
	schema := `{"type":"record","name":"T","fields":[{"name":"x","type":` + field + `},
		{"name":"eventId","type":"string"},{"name":"tripId","type":"string"},{"name":"ocorridoEm","type":"long"},
		{"name":"latitude","type":"double"},{"name":"longitude","type":"double"}]}`
	return schema, "\x02e\x02t\x02" + strings.Repeat("\x00", 16)
}

const nineOnes = "\xff\xff\xff\xff\xff\xff\xff\xff\xff"

func TestDecodeIsStrict(t *testing.T) {
	long := strings.Repeat("\x02", 2*maxDepth)
	for _, c := range []struct {
		name, field, bytes string
		want               error
	}{
		{"whole", `"int"`, "\x02", nil},
		{"int of five bytes", `"int"`, "\xff\xff\xff\xff\x0f", nil},
		{"int of 33 bits", `"int"`, "\x80\x80\x80\x80\x10", ErrVarint},
		{"int of six bytes", `"int"`, "\x80\x80\x80\x80\x80\x00", ErrVarint},
		{"long of ten bytes", `"long"`, nineOnes + "\x01", nil},
		{"long of 65 bits", `"long"`, nineOnes + "\x02", ErrVarint},
		{"long of eleven bytes", `"long"`, nineOnes + "\x80\x00", ErrVarint},
		{"text", `"string"`, "\x06caf", nil},
		{"text not UTF-8", `"string"`, "\x02\xff", ErrUTF8},
		{"long text not UTF-8", `"string"`, "\xd0\x01" + strings.Repeat("a", 103) + "\xc3", ErrUTF8},
		{"text not UTF-8 at its start", `"string"`, "\x28\xff" + strings.Repeat("a", 19), ErrUTF8},
		{"text of overlong UTF-8", `"string"`, "\x04\xc0\x80", ErrUTF8},
		{"text of negative length", `"string"`, "\x01", ErrLength},
		{"text of 2 GiB", `"string"`, "\x80\x80\x80\x80\x10", ErrLength},
		{"text longer than the value", `"string"`, "\xfe\x7f", ErrTruncated},
		{"bytes of negative length", `"bytes"`, "\x03", ErrLength},
		{"bytes are not text", `"bytes"`, "\x02\xff", nil},
		{"boolean true", `"boolean"`, "\x01", nil},
		{"boolean 2", `"boolean"`, "\x02", ErrBoolean},
		{"enum in range", `{"type":"enum","name":"E","symbols":["A","B"]}`, "\x02", nil},
		{"enum out of range", `{"type":"enum","name":"E","symbols":["A","B"]}`, "\x04", ErrEnumIndex},
		{"enum below zero", `{"type":"enum","name":"E","symbols":["A","B"]}`, "\x01", ErrEnumIndex},
		{"union out of range", `["null","int"]`, "\x04", ErrUnionIndex},
		{"union below zero", `["null","int"]`, "\x01", ErrUnionIndex},
		{"array", `{"type":"array","items":"int"}`, "\x04\x02\x02\x00", nil},
		{"array in a sized block", `{"type":"array","items":"int"}`, "\x03\x04\x02\x02\x00", nil},
		{"array in a block of another size", `{"type":"array","items":"int"}`, "\x03\x06\x02\x02\x00", ErrLength},
		{"array in a block of negative size", `{"type":"array","items":"int"}`, "\x03\x05\x02\x02\x00", ErrLength},
		{"array in a block too large", `{"type":"array","items":"int"}`, "\x03\xfe\x7f\x02\x02\x00", ErrTruncated},
		{"array of more than fits", `{"type":"array","items":"int"}`, "\xfe\x7f", ErrTruncated},
		{"array of 2^62 items", `{"type":"array","items":"int"}`, "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", ErrLength},
		{"array of -2^63 items", `{"type":"array","items":"int"}`, nineOnes + "\x01", ErrLength},
		{"array of many nulls", `{"type":"array","items":"null"}`, "\x80\x80\x80\x01\x00", nil},
		{"array with text not UTF-8", `{"type":"array","items":"string"}`, "\x02\x02\xff\x00", ErrUTF8},
		{"map", `{"type":"map","values":"int"}`, "\x02\x02k\x02\x00", nil},
		{"map with key not UTF-8", `{"type":"map","values":"int"}`, "\x02\x02\xff\x02\x00", ErrUTF8},
		{"map of more than fits", `{"type":"map","values":"int"}`, "\x50", ErrTruncated},
		{"fixed", `{"type":"fixed","name":"F","size":3}`, "abc", nil},
		{"fixed longer than the value", `{"type":"fixed","name":"F","size":100}`, "abc", ErrTruncated},
		{"recursion", `{"type":"record","name":"N","fields":[{"name":"n","type":["null","N"]}]}`, "\x02\x02\x00", nil},
		{"recursion too deep", `{"type":"record","name":"N","fields":[{"name":"n","type":["null","N"]}]}`, long, ErrDepth},
	} {
		t.Run(c.name, func(t *testing.T) {
			schema, rest := telemetryWith(c.field)
			d := NewDecoder()
			if err := d.Learn(schemas.Telemetry, 9, schema); err != nil {
				t.Fatal(err)
			}
			ev := schemas.Event{TripID: "old"}
			err := d.Decode(schemas.Telemetry, append(appendFrame(nil, 9), c.bytes+rest...), &ev)
			if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			if err != nil && (!strings.Contains(err.Error(), "field x at byte 0") || fmt.Sprint(ev) != fmt.Sprint(schemas.Event{})) {
				t.Errorf("error %q, event left %+v", err, ev)
			}
			if err == nil && (ev.TripID != "t" || ev.EventID != "e" || ev.At != 1) {
				t.Errorf("event %+v", ev)
			}
			p, err := NewPrinter(schema)
			if err != nil {
				t.Fatal(err)
			}
			_, err = p.Append(nil, append(appendFrame(nil, 9), c.bytes+rest...))
			want := c.want
			if c.name == "array of many nulls" {
				want = ErrLength // what takes no bytes to write still takes bytes to print
			}
			if !errors.Is(err, want) || (err == nil) != (want == nil) {
				t.Errorf("printing: got %v, want %v", err, want)
			}
		})
	}
}

// Every value cut short is refused, and so is one with a byte more.
func TestDecodeTakesTheWholeValue(t *testing.T) {
	schema, value := wideTelemetry(t)
	d := NewDecoder()
	if err := d.Learn(schemas.Telemetry, 7, schema); err != nil {
		t.Fatal(err)
	}
	var ev schemas.Event
	for n := range value {
		want := ErrTruncated
		if n < frameLen {
			want = ErrFrame
		}
		if err := d.Decode(schemas.Telemetry, value[:n], &ev); !errors.Is(err, want) {
			t.Fatalf("cut to %d of %d bytes: %v", n, len(value), err)
		}
	}
	if err := d.Decode(schemas.Telemetry, append(value, 0), &ev); !errors.Is(err, ErrTrailing) {
		t.Errorf("one byte more: %v", err)
	}
}

func TestDecodeFrame(t *testing.T) {
	d := NewDecoder()
	var ev schemas.Event
	for value, want := range map[string]error{"": ErrFrame, "\x00\x00\x00\x00": ErrFrame, "\x01\x00\x00\x00\x07": ErrFrame, "{\"a\":1}": ErrFrame} {
		if err := d.Decode(schemas.Rides, []byte(value), &ev); !errors.Is(err, want) {
			t.Errorf("%q: %v", value, err)
		}
	}
	var unknown *UnknownSchemaError
	if err := d.Decode(schemas.Rides, []byte("\x00\x80\x00\x00\x07"), &ev); !errors.As(err, &unknown) || unknown.ID != 0x80000007 {
		t.Errorf("unknown id: %v", err)
	}
}

func TestDecimalsThatDoNotFitAreRefused(t *testing.T) {
	for _, c := range []struct {
		scale int
		raw   string
		want  schemas.Mils
		ok    bool
	}{
		{3, "\x04\xe2", 1250, true},
		{3, "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x04\xe2", 1250, true}, // the sign repeated
		{3, "\xfb\x1e", -1250, true},
		{3, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xfb\x1e", -1250, true},
		{3, "", 0, false},
		{3, "\x0f\x42\x3f", 999_999, true},
		{3, "\x0f\x42\x40", 0, false},
		{3, "\xf0\xbd\xc1", -999_999, true},
		{3, "\xf0\xbd\xc0", 0, false},
		{1, "\x0d", 1300, true},
		{1, "\x27\x10", 0, false}, // 1000.0
		{0, "\x80\x00\x00\x00\x00\x00\x00\x00", 0, false},
		{5, "\x01\xe8\x48", 1250, true}, // 1.25000
		{5, "\x01\xe8\x49", 0, false},   // 1.25001
		{25, "\x00", 0, true},
		{25, "\x01", 0, false},
		{22, "\x02\xa5\xa0\x58\xfc\x29\x5e\xd0\x00\x00", 1250, true}, // 1.25 * 10^22
		{22, "\x02\xa5\xa0\x58\xfc\x29\x5e\xd0\x00\x01", 0, false},
		{3, strings.Repeat("\x7f", 60), 0, false},
	} {
		d := NewDecoder()
		schema := fmt.Sprintf(`{"type":"record","name":"R","fields":[{"name":"eventId","type":"string"},{"name":"tripId","type":"string"},
			{"name":"ocorridoEm","type":"long"},{"name":"tipo","type":{"type":"enum","name":"E","symbols":["MATCH"]}},
			{"name":"multiplicador","type":{"type":"bytes","logicalType":"decimal","precision":50,"scale":%d}}]}`, c.scale)
		if err := d.Learn(schemas.Rides, 1, schema); err != nil {
			t.Fatal(err)
		}
		var ev schemas.Event
		err := d.Decode(schemas.Rides, lengthed(append(appendFrame(nil, 1), "\x02e\x02t\x02\x00"...), c.raw), &ev)
		if (err == nil) != c.ok || ev.Ride.Multiplier != c.want || err != nil && !errors.Is(err, ErrDecimal) {
			t.Errorf("scale %d, %x: %d, %v", c.scale, c.raw, ev.Ride.Multiplier, err)
		}
	}
}
