package node

import (
	"testing"

	"taximeter/checkpoint"
)

func TestARunOfAnotherProcessIsTold(t *testing.T) {
	tip := func(runs ...checkpoint.Incarnation) checkpoint.Manifest {
		var m checkpoint.Manifest
		for _, i := range runs {
			m.Entries = append(m.Entries, checkpoint.Entry{Owner: "me", Incarnation: i})
		}
		return m
	}
	ours := func(e checkpoint.Entry) bool { return e.Incarnation == 100 }
	var l lives
	for i, c := range []struct {
		tip     checkpoint.Manifest
		foreign bool
	}{
		{tip(7, 900), false}, // of earlier lives, one under a clock that went wrong
		{tip(100, 900), false},
		{tip(100, 200), true}, // begun since by somebody else
		{tip(100, 7), false},  // restored to an earlier checkpoint
	} {
		if got := l.foreign(c.tip, "me", ours); got != c.foreign {
			t.Errorf("look %d: foreign = %t", i, got)
		}
	}
	elsewhere := tip(200)
	elsewhere.Entries[0].Owner = "other"
	if l.foreign(elsewhere, "me", ours) {
		t.Error("another node's run is taken for one of ours")
	}
}
