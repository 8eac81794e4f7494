package codec

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	twmb "github.com/twmb/avro"

	"taximeter/schemas"
	"taximeter/schemas/avro"
)

// fuzzWriters are the contracts and three writers that try the rest of the plan: many
// fields of every type, a recursive record, promotions and unions.
func fuzzWriters(tb testing.TB) []fuzzWriter {
	wide, _ := wideTelemetry(tb)
	odd := `{"type":"record","name":"R","fields":[
		{"name":"extra","type":{"type":"map","values":{"type":"array","items":["null","boolean",{"type":"fixed","name":"F","size":2}]}}},
		{"name":"tipo","type":["null",{"type":"enum","name":"E","symbols":["NOVO","TERMINO","MATCH"]}]},
		{"name":"rotaPrevista","type":[{"type":"array","items":["null",{"type":"record","name":"P","fields":[
			{"name":"longitude","type":"float"},{"name":"nome","type":"string"},{"name":"latitude","type":["null","int"]}]}]},"null","boolean"]},
		{"name":"multiplicador","type":{"type":"fixed","name":"D","size":10,"logicalType":"decimal","precision":22,"scale":8}},
		{"name":"no","type":{"type":"record","name":"No","fields":[{"name":"filhos","type":{"type":"array","items":"No"}},{"name":"v","type":"bytes"}]}},
		{"name":"nada","type":{"type":"array","items":"null"}},
		{"name":"ocorridoEm","type":"int"},{"name":"latitude","type":["int","null"]},{"name":"longitude","type":"long"},
		{"name":"tripId","type":"bytes"},{"name":"eventId","type":["boolean","string"]}]}`
	return []fuzzWriter{
		newFuzzWriter(tb, schemas.Telemetry, avro.Telemetria),
		newFuzzWriter(tb, schemas.Rides, avro.EventoCorrida),
		newFuzzWriter(tb, schemas.Payments, avro.EventoPagamento),
		newFuzzWriter(tb, schemas.Telemetry, wide),
		newFuzzWriter(tb, schemas.Rides, odd),
	}
}

type fuzzWriter struct {
	topic   schemas.Topic
	decoder *Decoder
	printer *Printer
	other   *twmb.Schema
	typ     avroType // its schema, parsed
}

func newFuzzWriter(tb testing.TB, topic schemas.Topic, schema string) fuzzWriter {
	w := fuzzWriter{topic: topic, decoder: NewDecoder(), other: twmb.MustParse(stripLogical(schema))}
	err := w.decoder.Learn(topic, 0, schema)
	if err != nil {
		tb.Fatal(err)
	}
	if w.printer, err = NewPrinter(schema); err != nil {
		tb.Fatal(err)
	}
	if err := json.Unmarshal([]byte(schema), &w.typ.schema); err != nil {
		tb.Fatal(err)
	}
	return w
}

// stricter are the refusals of values that the other library takes: it does not look into
// strings, booleans and sized blocks, and knows nothing of what the contract needs.
var stricter = []error{ErrUTF8, ErrBoolean, ErrLength, ErrDepth, ErrDecimal, ErrNull, ErrBranch}

// Whatever the bytes, decoding neither panics nor takes memory out of proportion, and it
// takes what another strict decoder takes, as the same event, but for the stricter.
func FuzzDecode(f *testing.F) {
	writers := fuzzWriters(f)
	f.Fuzz(func(t *testing.T, which byte, body []byte) {
		w := writers[int(which)%len(writers)]
		value := append(appendFrame(nil, 0), body...)
		var got schemas.Event
		err := w.decoder.Decode(w.topic, value, &got)
		if len(got.Ride.Route) > len(body) {
			t.Fatalf("%d points out of %d bytes", len(got.Ride.Route), len(body))
		}
		if _, printErr := w.printer.Append(nil, value); printErr == nil && err != nil && !errors.Is(err, ErrDecimal) && !errors.Is(err, ErrNull) && !errors.Is(err, ErrBranch) {
			t.Fatalf("printed, but not decoded: %v", err)
		}

		var generic map[string]any
		rest, otherErr := w.other.Decode(body, &generic)
		if otherErr != nil || len(rest) > 0 {
			if err == nil {
				t.Fatalf("decoded, but not by twmb: %v, %d bytes left", otherErr, len(rest))
			}
			return
		}
		want, wantErr := expect(w.topic, w.typ, generic)
		if err == nil {
			if wantErr != nil || fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
				t.Fatalf("event %+v, by twmb %+v, %v", got, want, wantErr)
			}
			return
		}
		for _, s := range stricter {
			if errors.Is(err, s) {
				return
			}
		}
		t.Fatalf("refused, but not by twmb: %v", err)
	})
}

// Schemas come from a registry that others fill: no text may panic, and what is learned
// must decode anything without panic.
func FuzzLearn(f *testing.F) {
	for _, c := range avro.Contracts() {
		f.Add(c.Schema, []byte("\x02e\x02t\x02"))
	}
	wide, _ := wideTelemetry(f)
	f.Add(wide, []byte{})
	f.Fuzz(func(t *testing.T, schema string, body []byte) {
		value := append(appendFrame(nil, 0), body...)
		for _, topic := range schemas.Inputs {
			d := NewDecoder()
			learned := d.Learn(topic, 0, schema)
			var ev schemas.Event
			if err := d.Decode(topic, value, &ev); learned != nil && err == nil {
				t.Fatalf("%s: refused (%v) and yet decoded", topic, learned)
			}
		}
		if p, err := NewPrinter(schema); err == nil {
			if out, err := p.Append(nil, value); err == nil && !json.Valid(out) {
				t.Fatalf("not JSON: %s", out)
			}
		}
	})
}
