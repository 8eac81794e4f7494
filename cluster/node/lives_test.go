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
		by      checkpoint.NodeID
		foreign bool
	}{
		{tip(7, 900), "me", false}, // of earlier lives, one under a clock that went wrong
		{tip(100, 900), "me", false},
		{tip(100, 200), "me", true},   // begun since by somebody else
		{tip(100, 7), "me", false},    // restored to an earlier checkpoint
		{tip(100, 8), "other", false}, // handed over to a life of ours that is over
		{tip(100, 201), "me", true},
	} {
		got, err := l.foreign(c.tip, "me", ours, func(int) (checkpoint.NodeID, error) { return c.by, nil })
		if err != nil || got != c.foreign {
			t.Errorf("look %d: foreign = %t, %v", i, got, err)
		}
	}
	elsewhere := tip(200)
	elsewhere.Entries[0].Owner = "other"
	if got, err := l.foreign(elsewhere, "me", ours, nil); got || err != nil {
		t.Error("another node's run is taken for one of ours")
	}
}
