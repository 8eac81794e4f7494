package checkpoint_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"taximeter/checkpoint"
)

func TestEveryStartIsANewEpochAndIncarnationAndKeepsMade(t *testing.T) {
	tip := grown(t, chainOf(t), sealOf(chainOf(t), 0, 0, 7))
	next, err := checkpoint.Assign(tip, limits, by("x"), checkpoint.Start{Partition: 0, Owner: "a", Incarnation: 11})
	must(t, err)
	want := tip.Entries[0]
	want.Epoch, want.Incarnation = 2, 11
	if !reflect.DeepEqual(next.Entries[0], want) || !reflect.DeepEqual(next.Entries[1], tip.Entries[1]) {
		t.Errorf("got %+v", next.Entries)
	}
	// The same node under the same incarnation: its memory would not fit its older seals.
	_, err = checkpoint.Assign(tip, limits, by("x"), checkpoint.Start{Partition: 0, Owner: "a", Incarnation: 10})
	if !errors.Is(err, checkpoint.ErrRefused) || !strings.Contains(err.Error(), "new incarnation") {
		t.Errorf("got %v", err)
	}
	// A seal of the run before is refused from now on.
	_, rejected := checkpoint.NextCheckpoint(next, []checkpoint.Seal{sealOf(tip, 0, 0, 9)}, nil, limits, by("x"))
	if len(rejected) != 1 || rejected[0].Reason != checkpoint.ReasonEpoch {
		t.Errorf("rejected %v", rejected)
	}
}

// Seal numbers go on across epochs: garbage collection would take a new run's files for
// old ones if they began anew.
func TestSealNumbersGoOnAcrossEpochs(t *testing.T) {
	tip := grown(t, chainOf(t), sealOf(chainOf(t), 0, 0, 7))
	next, err := checkpoint.Assign(tip, limits, by("x"), checkpoint.Start{Partition: 0, Owner: "b", Incarnation: 1})
	must(t, err)
	if s := checkpoint.NewSeal(next, 0, 0); !s.Place().After(next.Entries[0]) || s.Number != 2 {
		t.Errorf("first seal of the new run: %+v", s.Place())
	}
}

func TestPlannedMoveIsOneManifest(t *testing.T) {
	tip := chainOf(t)
	last := sealOf(tip, 0, 0, 7)
	next, err := checkpoint.Assign(tip, limits, by("x"), checkpoint.Start{Partition: 0, Owner: "b", Incarnation: 20, Last: &last})
	must(t, err)
	e := next.Entries[0]
	if e.Made != 3 || e.Epoch != 2 || e.Owner != "b" || e.Incarnation != 20 || e.Next != offsets(7) || madeOf(e.Pending) != "3" || e.Seal != 1 {
		t.Errorf("got %+v", e)
	}
	// The last seal obeys the rules of any seal.
	stale := grown(t, tip, last)
	_, err = checkpoint.Assign(stale, limits, by("x"), checkpoint.Start{Partition: 0, Owner: "b", Incarnation: 20, Last: &last})
	if !errors.Is(err, checkpoint.ErrRefused) || !strings.Contains(err.Error(), string(checkpoint.ReasonBase)) {
		t.Errorf("got %v", err)
	}
	other := sealOf(tip, 1, 0, 7)
	if _, err := checkpoint.Assign(tip, limits, by("x"), checkpoint.Start{Partition: 0, Owner: "b", Incarnation: 20, Last: &other}); err == nil {
		t.Error("took the seal of another partition")
	}
}

func TestStartsThatMakeNoSenseAreRefused(t *testing.T) {
	tip := chainOf(t)
	for name, changes := range map[string][]checkpoint.Change{
		"twice in one manifest": {checkpoint.Start{Partition: 0, Owner: "b", Incarnation: 1}, checkpoint.Start{Partition: 0, Owner: "c", Incarnation: 1}},
		"no such partition":     {checkpoint.Start{Partition: 2, Owner: "b", Incarnation: 1}},
		"no incarnation":        {checkpoint.Start{Partition: 0, Owner: "b"}},
		"nobody's incarnation":  {checkpoint.Start{Partition: 0, Incarnation: 3}},
		"owner is no member":    {checkpoint.Start{Partition: 0, Owner: "d", Incarnation: 1}},
		"bad node id":           {checkpoint.Join{Node: "a/b"}},
	} {
		if _, err := checkpoint.Assign(tip, limits, by("x"), changes...); !errors.Is(err, checkpoint.ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestMembersChangeOnlyByJoinLeaveAndTakeOver(t *testing.T) {
	tip := chainOf(t)
	joined, err := checkpoint.Assign(tip, limits, by("x"), checkpoint.Join{Node: "aa"}, checkpoint.Join{Node: "b"})
	must(t, err)
	if want := []checkpoint.NodeID{"a", "aa", "b", "c"}; !slices.Equal(joined.Members, want) {
		t.Errorf("members %v", joined.Members)
	}
	left, err := checkpoint.Assign(tip, limits, by("x"), checkpoint.Leave{Node: "b"})
	must(t, err)
	if want := []checkpoint.NodeID{"a", "c"}; !slices.Equal(left.Members, want) || !slices.Equal(tip.Members, []checkpoint.NodeID{"a", "b", "c"}) {
		t.Errorf("members %v of %v", left.Members, tip.Members)
	}
	// Who owns something gives it away in the same manifest.
	if _, err := checkpoint.Assign(tip, limits, by("x"), checkpoint.Leave{Node: "a"}); !errors.Is(err, checkpoint.ErrRefused) || !strings.Contains(err.Error(), "partition 0") {
		t.Errorf("got %v", err)
	}
	_, err = checkpoint.Assign(tip, limits, by("x"), checkpoint.Leave{Node: "a"},
		checkpoint.Start{Partition: 0, Owner: "b", Incarnation: 1}, checkpoint.Start{Partition: 1})
	must(t, err)
	if _, err := checkpoint.Assign(tip, limits, by("x"), checkpoint.Leave{Node: "z"}); !errors.Is(err, checkpoint.ErrRefused) {
		t.Errorf("got %v", err)
	}
	if next := grown(t, tip, sealOf(tip, 0, 0, 1)); !slices.Equal(next.Members, tip.Members) {
		t.Errorf("a checkpoint changed the members to %v", next.Members)
	}
}

func TestWhoMayTakeOver(t *testing.T) {
	tip := chainOf(t) // members a, b, c; a owns both partitions
	const patience = 10 * time.Second
	for _, c := range []struct {
		name      string
		observer  checkpoint.NodeID
		alive     []checkpoint.NodeID
		unchanged time.Duration
		ok        bool
	}{
		{"the majority sees it dead", "b", []checkpoint.NodeID{"b", "c"}, 0, true},
		{"an isolated node", "b", []checkpoint.NodeID{"b"}, 0, false},
		{"an isolated node that dreams of others", "b", []checkpoint.NodeID{"b", "x", "y", "z"}, 0, false},
		{"gossip still calls it alive", "b", []checkpoint.NodeID{"a", "b", "c"}, patience - 1, false},
		{"alive in gossip, but its heartbeat stands still", "b", []checkpoint.NodeID{"a", "b", "c"}, patience, true},
		{"isolated, but the heartbeat stands still", "b", []checkpoint.NodeID{"b"}, patience, true},
		{"no member", "x", []checkpoint.NodeID{"b", "c", "x"}, patience, false},
		{"itself", "a", []checkpoint.NodeID{"b", "c"}, patience, false},
	} {
		next, err := checkpoint.Assign(tip, limits, by("x"),
			checkpoint.TakeOver{Dead: "a", Observer: c.observer, Evidence: checkpoint.Evidence{Alive: c.alive, Unchanged: c.unchanged, Patience: patience}},
			checkpoint.Start{Partition: 0, Owner: "b", Incarnation: 1}, checkpoint.Start{Partition: 1, Owner: "c", Incarnation: 1})
		if (err == nil) != c.ok || err != nil && !errors.Is(err, checkpoint.ErrRefused) {
			t.Errorf("%s: %v", c.name, err)
		}
		if c.ok && (next.IsMember("a") || next.Entries[0].Owner != "b") {
			t.Errorf("%s: %+v", c.name, next)
		}
	}
	// Half is not the majority: in a cluster of two the heartbeat decides.
	two, err := checkpoint.Assign(tip, limits, by("x"), checkpoint.Leave{Node: "c"})
	must(t, err)
	_, err = checkpoint.Assign(two, limits, by("x"), checkpoint.TakeOver{Dead: "a", Observer: "b", Evidence: checkpoint.Evidence{Alive: []checkpoint.NodeID{"b"}, Patience: patience}},
		checkpoint.Start{Partition: 0}, checkpoint.Start{Partition: 1})
	if !errors.Is(err, checkpoint.ErrRefused) {
		t.Errorf("one of two took over at once: %v", err)
	}
}

func TestOwnedIsWhatTheManifestGives(t *testing.T) {
	tip, err := checkpoint.Assign(chainOf(t), limits, by("x"), checkpoint.Start{Partition: 1, Owner: "b", Incarnation: 1})
	must(t, err)
	if a, b, c := tip.Owned("a"), tip.Owned("b"), tip.Owned("c"); len(a) != 1 || a[0] != 0 || len(b) != 1 || b[0] != 1 || c != nil {
		t.Errorf("a %v, b %v, c %v", a, b, c)
	}
}
