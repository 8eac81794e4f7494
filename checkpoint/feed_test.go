package checkpoint_test

import (
	"errors"
	"slices"
	"testing"

	"taximeter/checkpoint"
)

func TestSinksLieInTheChain(t *testing.T) {
	tip := chainOf(t)
	if _, err := checkpoint.Assign(tip, checkpoint.Limits{}, by("s"), checkpoint.Feed{Fed: checkpoint.Fed{Name: "a"}}); !errors.Is(err, checkpoint.ErrRefused) {
		t.Errorf("under the first protocol: %v", err)
	}
	tip, err := checkpoint.Assign(tip, checkpoint.Limits{}, by("s"), checkpoint.Speak{Protocol: checkpoint.Protocol2}, checkpoint.Feed{Fed: checkpoint.Fed{Name: "a"}})
	must(t, err)
	for _, f := range []checkpoint.Fed{{Name: "b"}, {Name: "a"}, {Name: "b", Verdicts: true}} {
		tip, err = checkpoint.Assign(tip, checkpoint.Limits{}, by("s"), checkpoint.Feed{Fed: f})
		must(t, err)
	}
	if want := []checkpoint.Fed{{Name: "a"}, {Name: "b", Verdicts: true}}; !slices.Equal(tip.Sinks, want) || tip.Cause != checkpoint.CauseSinks {
		t.Fatalf("sinks %+v, cause %s", tip.Sinks, tip.Cause)
	}
	next, _ := checkpoint.NextCheckpoint(tip, nil, nil, checkpoint.Limits{}, by("s"))
	if !slices.Equal(next.Sinks, tip.Sinks) {
		t.Errorf("a checkpoint changed the sinks to %v", next.Sinks)
	}
	less, err := checkpoint.Assign(tip, checkpoint.Limits{}, by("s"), checkpoint.Forget{Name: "a"})
	must(t, err)
	if want := []checkpoint.Fed{{Name: "b", Verdicts: true}}; !slices.Equal(less.Sinks, want) || len(tip.Sinks) != 2 {
		t.Errorf("sinks %v, and before %v", less.Sinks, tip.Sinks)
	}
	if _, err := checkpoint.Assign(less, checkpoint.Limits{}, by("s"), checkpoint.Forget{Name: "a"}); !errors.Is(err, checkpoint.ErrRefused) {
		t.Errorf("forgotten twice: %v", err)
	}
}
