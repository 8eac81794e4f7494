package checkpoint_test

import (
	"bytes"
	"errors"
	"math"
	"os"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"taximeter/checkpoint"
	"taximeter/schemas"
)

// fill sets every field of a struct to a value of its own, so that a field that the
// encoding forgets shows; n counts on.
func fill(v reflect.Value, n *int64) {
	*n++
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), n)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), n)
		fill(v.Index(1), n)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.String:
		v.SetString(string(rune('a'+*n%26)) + "ção\xff\x00" + string(rune(*n)))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(float64(*n) / 3)
	case reflect.Uint8:
		v.SetUint(uint64(*n % 17))
	default:
		v.SetInt(-*n)
	}
}

func fullOutbox() schemas.Outbox {
	var o schemas.Outbox
	n := int64(0)
	fill(reflect.ValueOf(&o).Elem(), &n)
	return o
}

// If this fails because a word gained a field: encode it, raise OutboxFormat, keep reading
// the old format, and add a golden file.
func TestOutboxEncodesEveryField(t *testing.T) {
	o := fullOutbox()
	got, err := checkpoint.DecodeOutbox("k", checkpoint.EncodeOutbox(o, checkpoint.NewestProtocol))
	must(t, err)
	if !reflect.DeepEqual(got, o) {
		t.Errorf("got  %+v\nwant %+v", got, o)
	}
}

func TestOutboxGolden(t *testing.T) {
	golden(t, "outbox-1.bin", checkpoint.EncodeOutbox(fullOutbox(), checkpoint.Protocol1))
	golden(t, "outbox-2.bin", checkpoint.EncodeOutbox(fullOutbox(), checkpoint.Protocol2))
	first := fullOutbox() // format 1 ended with the dead letters
	first.Verdicts, first.Trips = nil, nil
	for name, want := range map[string]schemas.Outbox{"outbox-1.bin": first, "outbox-2.bin": fullOutbox()} {
		data, err := os.ReadFile("testdata/" + name)
		must(t, err)
		got, err := checkpoint.DecodeOutbox("k", data)
		must(t, err)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

func drawOutbox(rt *rapid.T) schemas.Outbox {
	text := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
	raw := rapid.OneOf(rapid.Just([]byte(nil)), rapid.SliceOf(rapid.Byte()))
	number := rapid.Int64()
	window := rapid.Custom(func(t *rapid.T) schemas.Window {
		w := schemas.Window{TripID: schemas.TripID(text.Draw(t, "trip")), Start: schemas.Millis(number.Draw(t, "start")), Version: int(number.Draw(t, "version")),
			DistanceMM: number.Draw(t, "mm"), Verdict: schemas.Verdict(rapid.Byte().Draw(t, "verdict"))}
		if rapid.Bool().Draw(t, "has") {
			f, m := rapid.Float64().Draw(t, "max"), schemas.Millis(number.Draw(t, "first"))
			w.MaxKmh, w.First = &f, &m
		}
		return w
	})
	bill := rapid.Custom(func(t *rapid.T) schemas.Bill {
		return schemas.Bill{TripID: schemas.TripID(text.Draw(t, "trip")), Amount: schemas.Cents(number.Draw(t, "amount")), Rectification: rapid.Bool().Draw(t, "again"),
			Motive: schemas.Motive(text.Draw(t, "motive"))}
	})
	letter := rapid.Custom(func(t *rapid.T) schemas.DeadLetter {
		return schemas.DeadLetter{Detail: text.Draw(t, "detail"), Key: raw.Draw(t, "key"), Value: raw.Draw(t, "value"), Offset: schemas.Offset(number.Draw(t, "offset"))}
	})
	return schemas.Outbox{Bills: rapid.SliceOfN(bill, 0, 3).Draw(rt, "bills"), Windows: rapid.SliceOfN(window, 0, 3).Draw(rt, "windows"),
		DeadLetters: rapid.SliceOfN(letter, 0, 3).Draw(rt, "letters")}
}

// Byte for byte the same on every retry: what was decoded encodes to the same bytes, nil
// stays apart from empty, and no text is mended.
func TestOutboxRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		o := drawOutbox(rt)
		data := checkpoint.EncodeOutbox(o, checkpoint.NewestProtocol)
		got, err := checkpoint.DecodeOutbox("k", data)
		if err != nil {
			rt.Fatal(err)
		}
		if !bytes.Equal(checkpoint.EncodeOutbox(got, checkpoint.NewestProtocol), data) {
			rt.Fatal("encodes to other bytes")
		}
		for i := range o.DeadLetters {
			if a, b := o.DeadLetters[i], got.DeadLetters[i]; !bytes.Equal(a.Value, b.Value) || (a.Value == nil) != (b.Value == nil) || a.Detail != b.Detail {
				rt.Fatalf("got %+v, want %+v", b, a)
			}
		}
		if _, err := checkpoint.DecodeOutbox("k", append(bytes.Clone(data), 0)); !errors.Is(err, checkpoint.ErrOutbox) {
			rt.Fatalf("a byte more: %v", err)
		}
		for n := range len(data) {
			if _, err := checkpoint.DecodeOutbox("k", data[:n]); !errors.Is(err, checkpoint.ErrOutbox) {
				rt.Fatalf("cut to %d of %d bytes: %v", n, len(data), err)
			}
		}
	})
}

func TestOutboxOfANewerFormatSaysUpgrade(t *testing.T) {
	data := checkpoint.EncodeOutbox(schemas.Outbox{}, checkpoint.NewestProtocol)
	data[4] = 2 * (checkpoint.OutboxFormat + 1) // zigzag
	var newer *checkpoint.NewerFormatError
	if _, err := checkpoint.DecodeOutbox("ns/outbox/x", data); !errors.As(err, &newer) || newer.Key != "ns/outbox/x" || newer.Want != checkpoint.OutboxFormat+1 {
		t.Errorf("got %v", err)
	}
}

func TestOutboxKeepsOddFloats(t *testing.T) {
	for _, v := range []float64{math.Copysign(0, -1), math.Inf(1), math.NaN(), 5e-324} {
		got, err := checkpoint.DecodeOutbox("k", checkpoint.EncodeOutbox(schemas.Outbox{Windows: []schemas.Window{{MeanKmh: &v}}}, checkpoint.NewestProtocol))
		must(t, err)
		if math.Float64bits(*got.Windows[0].MeanKmh) != math.Float64bits(v) {
			t.Errorf("%v became %v", v, *got.Windows[0].MeanKmh)
		}
	}
}

func FuzzDecodeOutbox(f *testing.F) {
	f.Add(checkpoint.EncodeOutbox(fullOutbox(), checkpoint.NewestProtocol))
	f.Add(checkpoint.EncodeOutbox(schemas.Outbox{}, checkpoint.NewestProtocol))
	f.Fuzz(func(t *testing.T, data []byte) {
		o, err := checkpoint.DecodeOutbox("k", data)
		if err != nil {
			return
		}
		again, err := checkpoint.DecodeOutbox("k", checkpoint.EncodeOutbox(o, checkpoint.NewestProtocol))
		if err != nil || !bytes.Equal(checkpoint.EncodeOutbox(again, checkpoint.NewestProtocol), checkpoint.EncodeOutbox(o, checkpoint.NewestProtocol)) {
			t.Fatalf("%+v became %+v, %v", o, again, err)
		}
	})
}

func BenchmarkEncodeOutbox(b *testing.B) {
	v, m := 51.25, schemas.Millis(1_700_000_000_000)
	o := schemas.Outbox{}
	for range 1000 {
		o.Windows = append(o.Windows, schemas.Window{TripID: "3f2b8c1e-5d1a-4c43-9a8e-0d6f0a1b2c3d", Start: m, Version: 1, Points: 75, DistanceMM: 3_456_789, TimeMS: 299_000,
			MaxKmh: &v, MeanKmh: &v, First: &m, Last: &m})
	}
	var data []byte
	for b.Loop() {
		data = checkpoint.EncodeOutbox(o, checkpoint.NewestProtocol)
	}
	b.ReportMetric(float64(len(data))/1000, "B/window")
}
