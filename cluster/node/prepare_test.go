package node

import (
	"slices"
	"testing"
	"time"

	"taximeter/checkpoint"
	"taximeter/schemas"
)

// What others will hand over is prepared again and again until it is here; nothing else is.
func TestWhatWillComeIsPrepared(t *testing.T) {
	var r preparing
	now := time.Unix(1000, 0)
	owners := []checkpoint.NodeID{"a", "b", "", "a", "b"}
	target := []checkpoint.NodeID{"a", "a", "a", "b", "a"} // 0 is here, 2 rests, 3 goes
	due := func(after time.Duration) []schemas.Partition { return r.due("a", owners, target, now.Add(after)) }
	if got := due(0); !slices.Equal(got, []schemas.Partition{1, 4}) {
		t.Errorf("prepares %v", got)
	}
	if got := due(prepareEvery - 1); len(got) != 0 {
		t.Errorf("prepares %v again at once", got)
	}
	owners[1] = "a"
	if got := due(prepareEvery); !slices.Equal(got, []schemas.Partition{4}) {
		t.Errorf("prepares %v when 1 has come", got)
	}
	owners[1] = "b" // and has gone
	if got := due(prepareEvery); !slices.Equal(got, []schemas.Partition{1}) {
		t.Errorf("prepares %v when 1 is to come again", got)
	}
}
