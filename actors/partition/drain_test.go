package partition

import (
	"testing"

	"taximeter/schemas"
)

func TestDrainHandsEachEffectOverOnce(t *testing.T) {
	p := New(3, File, DefaultSettings(), nil, Direct{}, nil, 0)
	letter := func(offset schemas.Offset) {
		b := schemas.Batch{Partition: 3,
			Records: []schemas.Record{{Event: schemas.Event{Topic: schemas.Rides}, Offset: offset, AppendedAt: schemas.NoTime}}}
		if err := p.Consume(&b, 0); err != nil {
			t.Fatal(err)
		}
	}
	for offset := range schemas.Offset(3) {
		letter(offset)
		out, alerts := p.Drain()
		if len(out.DeadLetters) != 1 || out.DeadLetters[0].Offset != offset || len(alerts) != 0 {
			t.Fatalf("drain %d: %+v, %v", offset, out, alerts)
		}
		if again, _ := p.Drain(); !again.Empty() {
			t.Fatalf("drained twice: %+v", again)
		}
	}
}
