package wide

import (
	"testing"

	"taximeter/bench/internal/traffic"
	"taximeter/schemas"
	"taximeter/schemas/avro"
	"taximeter/schemas/codec"
)

// TestTheMeterReadsWideValues compares what the meter makes of a wide value with the event
// that went in.
func TestTheMeterReadsWideValues(t *testing.T) {
	e, d := &Encoder{}, codec.NewDecoder()
	for i, topic := range schemas.Inputs {
		c, _ := avro.Of(topic.String())
		schema, extra, err := widen(c.Schema)
		if err != nil {
			t.Fatal(err)
		}
		e.ids[i], e.extra[i] = i+1, extra
		if err := d.Learn(topic, i+1, schema); err != nil {
			t.Fatal(err)
		}
	}
	s := traffic.New(traffic.Mixed())
	var got schemas.Event
	short := 0
	const n = 20_000
	for range n {
		l, _ := s.Next()
		r, err := e.Record(&l)
		if err != nil {
			t.Fatal(err)
		}
		if l.Raw != nil {
			continue
		}
		if err := d.Decode(l.Topic, r.Value, &got); err != nil {
			t.Fatalf("event %d: %v", l.Number, err)
		}
		var want schemas.Record
		l.Record(&want)
		if got.TripID != want.TripID || got.EventID != want.EventID || got.At != want.At || got.Kind != want.Kind || got.Payment != want.Payment {
			t.Fatalf("event %d: %+v, want %+v", l.Number, got, want.Event)
		}
		if len(r.Value) < least || len(r.Value) > most {
			short++
		}
	}
	if short > n/50 {
		t.Errorf("%d of %d values are not of %d to %d bytes", short, n, least, most)
	}
}
