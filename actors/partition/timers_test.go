package partition

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"taximeter/actors/trip"
	"taximeter/schemas"
)

// Whatever ids trips have, they are woken by instant, and at one instant by id.
func TestTimersFireByInstantAndId(t *testing.T) {
	ids := []schemas.TripID{"a", "a\x00", "a\x00b", "ab", "b", "12345678", "123456780", "12345678-b", "12345678-a", "\xff", "é", "12345678\x00"}
	slots := make([]*Slot, 0, 2*len(ids))
	for _, id := range ids {
		for range 2 {
			slots = append(slots, &Slot{Trip: trip.New(id)})
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var h timers
		rng.Shuffle(len(slots), func(i, j int) { slots[i], slots[j] = slots[j], slots[i] })
		want := make([]timer, 0, len(slots))
		for _, s := range slots {
			s.scheduled = schemas.Millis(rng.IntN(3))
			e := timer{s.scheduled, headOf(s.ID()), s}
			want = append(want, e)
			h = append(h, e)
			h.up(len(h) - 1)
		}
		slices.SortFunc(want, func(a, b timer) int { return cmp.Or(cmp.Compare(a.due, b.due), cmp.Compare(a.slot.ID(), b.slot.ID())) })
		for i, w := range want {
			if s := h.pop(); s.ID() != w.slot.ID() {
				t.Fatalf("%d: %q is woken before %q", i, s.ID(), w.slot.ID())
			}
		}
	}
}
