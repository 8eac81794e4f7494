package sinks

import (
	"testing"

	"taximeter/checkpoint"
)

func TestDueIsWhatIsNewerInOrder(t *testing.T) {
	items := []Item{{Made: 2}, {Made: 5}, {Made: 9}}
	for made, want := range map[checkpoint.Number]int{0: 3, 1: 3, 2: 2, 4: 2, 5: 1, 8: 1, 9: 0, 10: 0} {
		if due, err := Due(items, made); err != nil || len(due) != want {
			t.Errorf("after %d: %v, %v", made, due, err)
		}
	}
	if due, err := Due(nil, 3); err != nil || len(due) != 0 {
		t.Errorf("of nothing: %v, %v", due, err)
	}
	for _, wrong := range [][]Item{{{Made: 5}, {Made: 2}}, {{Made: 2}, {Made: 2}}} {
		if _, err := Due(wrong, 0); err == nil {
			t.Errorf("%v passed", wrong)
		}
	}
}
