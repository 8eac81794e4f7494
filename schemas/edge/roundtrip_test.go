package edge

import (
	"bytes"
	"io"
	"math"
	"reflect"
	"strings"
	"testing"

	"taximeter/schemas"
)

// same compares with NaN equal to NaN.
func same(t *testing.T, got, want any) {
	t.Helper()
	if !equal(reflect.ValueOf(got), reflect.ValueOf(want)) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func equal(a, b reflect.Value) bool {
	switch a.Kind() {
	case reflect.Float32, reflect.Float64:
		x, y := a.Float(), b.Float()
		return math.Float64bits(x) == math.Float64bits(y) || math.IsNaN(x) && math.IsNaN(y)
	case reflect.Pointer:
		if a.IsNil() || b.IsNil() {
			return a.IsNil() == b.IsNil()
		}
		return equal(a.Elem(), b.Elem())
	case reflect.Slice:
		if a.IsNil() != b.IsNil() || a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !equal(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	case reflect.Func:
		return a.IsNil() && b.IsNil()
	case reflect.Struct:
		for i := range a.NumField() {
			if !equal(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	}
	return a.Equal(b)
}

func ptr[T any](x T) *T { return &x }

func everything() []Line {
	inf := math.Inf(-1)
	return []Line{
		{Topic: schemas.Telemetry, AppendedAt: 1, Key: []byte("t\"\\\n"), Telemetry: &schemas.TelemetryRecord{
			EventID: "e\u2028", TripID: "t", DriverID: "d", At: math.MaxInt64, Lat: math.NaN(), Lon: math.Copysign(0, -1),
			SpeedKmh: ptr(float32(math.MaxFloat32)), PrecisionM: ptr(float32(math.SmallestNonzeroFloat32)), Device: ptr(""), Rectifies: ptr(schemas.EventID("r"))}},
		{Topic: schemas.Rides, AppendedAt: schemas.NoTime, Ride: &schemas.RideRecord{
			EventID: "e", TripID: "t", At: -1, Kind: "AVALIACAO", PassengerID: ptr("p"), DriverID: ptr("d"), Region: ptr("sp"),
			Category: ptr("c"), Multiplier: ptr(schemas.Mils(-1)), Lat: ptr(inf), Lon: ptr(math.MaxFloat64), Rating: ptr(int32(math.MinInt32)),
			Route: []schemas.LatLon{{Lat: 0.1 + 0.2, Lon: 1}, {Lat: -inf, Lon: 5e-324}}, Rectifies: ptr(schemas.EventID(""))}},
		{Topic: schemas.Rides, AppendedAt: 0, Ride: &schemas.RideRecord{Kind: "X", Route: []schemas.LatLon{}}},
		{Topic: schemas.Payments, AppendedAt: schemas.NoTime, Key: []byte{}, Payment: &schemas.PaymentRecord{
			EventID: "e", TripID: "t", At: 5, Kind: "FATURA", Amount: -schemas.MaxCents, Currency: "BRL", Means: ptr("m"), CardID: ptr("c"),
			Rectifies: ptr(schemas.EventID("r")), Bill: &schemas.BillRecord{Version: 1, DistanceMM: math.MaxInt64, DurationS: -1, TariffID: "t",
				Region: "r", Category: "c", Multiplier: schemas.MaxMils, Start: 1, End: 2, Points: 3, Rejected: 4, Rectification: true,
				Motive: ptr("anulada"), Difference: ptr(schemas.Cents(-5)), CheckpointID: 1 << 60}}},
		{Topic: schemas.Payments, AppendedAt: schemas.NoTime, Raw: []byte{0, 255}},
	}
}

func TestWhatIsWrittenIsReadBackExactly(t *testing.T) {
	var file bytes.Buffer
	w := NewWriter(&file)
	lines := everything()
	for i := range lines {
		if err := w.Write(&lines[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	r := NewReader("f", &file)
	for i := range lines {
		got, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if got.Raw == nil && got.Fault != schemas.Counted {
			t.Errorf("line %d: %s", i, got.Detail)
		}
		same(t, meaning(got), meaning(&lines[i]))
	}
}

// meaning is the line without its place, its verdict and its text.
func meaning(l *Line) Line {
	return Line{Topic: l.Topic, AppendedAt: l.AppendedAt, Key: l.Key, Telemetry: l.Telemetry, Ride: l.Ride, Payment: l.Payment, Raw: l.Raw}
}

func TestWhatCannotBeWrittenIsAnError(t *testing.T) {
	for _, l := range []Line{
		{Topic: schemas.Telemetry},
		{Topic: schemas.Telemetry, Telemetry: &schemas.TelemetryRecord{TripID: "\xff"}},
		{Topic: schemas.Telemetry, Key: []byte("\xff"), Telemetry: &schemas.TelemetryRecord{}},
	} {
		if err := NewWriter(io.Discard).Write(&l); err == nil {
			t.Errorf("%+v was written", l)
		}
	}
}

func TestFieldNamesAreUniqueAndComplete(t *testing.T) {
	if len(fieldByName) != int(numFields) {
		t.Errorf("%d names for %d fields", len(fieldByName), numFields)
	}
	for f, name := range fieldNames {
		if name == "" {
			t.Errorf("field %d has no name", f)
		}
	}
}

// FuzzReader: no input panics, and whatever is accepted is written and read back to the same.
func FuzzReader(f *testing.F) {
	var dst []byte
	for _, l := range everything() {
		dst, _ = AppendLine(dst[:0], &l)
		f.Add(string(dst))
	}
	f.Add(telemetry)
	f.Add(`{"topic":"pagamentos.eventos","value":{"valor":"x","tripId":[1]},"appendedAt":null}`)
	f.Add(`{"topic":"corridas.eventos","value":{"rotaPrevista":[{"latitude":"NaN","longitude":1e5,"latitude":2}],"ocorridoEm":"0001-01-01T00:00:00+14:00"}}`)
	f.Fuzz(func(t *testing.T, text string) {
		r := NewReader("f", strings.NewReader(text))
		for {
			l, err := r.Next()
			if err != nil {
				return
			}
			var rec, again schemas.Record
			l.Record(&rec)
			written, err := AppendLine(nil, l)
			if err != nil {
				t.Fatalf("accepted but not written: %v\n%s", err, text)
			}
			back, err := NewReader("back", bytes.NewReader(written)).Next()
			if err != nil {
				t.Fatalf("%v\n%s\n%s", err, text, written)
			}
			back.Record(&again)
			same(t, meaning(back), meaning(l))
			same(t, again.Event, rec.Event)
			if again.Fault != rec.Fault || again.Detail != rec.Detail {
				t.Errorf("fault %v %q, was %v %q", again.Fault, again.Detail, rec.Fault, rec.Detail)
			}
		}
	})
}

func BenchmarkReadLine(b *testing.B) {
	text := []byte(strings.Repeat(telemetry+"\n", 1000))
	b.SetBytes(int64(len(telemetry) + 1))
	b.ReportAllocs()
	var rec schemas.Record
	src := new(bytes.Reader)
	n := 0
	var r *Reader
	for b.Loop() {
		if n%1000 == 0 {
			src.Reset(text)
			r = NewReader("f", src)
		}
		n++
		l, err := r.Next()
		if err != nil {
			b.Fatal(err)
		}
		l.Record(&rec)
	}
}

func BenchmarkWriteLine(b *testing.B) {
	lines := everything()
	w := NewWriter(io.Discard)
	b.ReportAllocs()
	for b.Loop() {
		if err := w.Write(&lines[0]); err != nil {
			b.Fatal(err)
		}
	}
}
