package checkpoint_test

import (
	"reflect"
	"testing"

	"taximeter/checkpoint"
	"taximeter/schemas"
)

func TestSealBecomesTheEntry(t *testing.T) {
	tip := chainOf(t)
	s := sealOf(tip, 0, 0, 7)
	s.Alerts = checkpoint.Alerts{Unsent: []schemas.Alert{{AlertID: "x"}}, LogNext: 3}
	next := grown(t, tip, s)
	got := next.Entries[0]
	want := checkpoint.Entry{Made: 3, Epoch: 1, Incarnation: 10, Owner: "a", Seal: 1, Next: offsets(7), Watermark: 7,
		Files: s.Files, Pending: []checkpoint.OutboxRef{{Made: 3, File: s.Outbox.File}}, Alerts: s.Alerts}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if next.Number != 3 || next.Lineage != 1 || next.Cause != checkpoint.CauseCheckpoint || next.Token == tip.Token {
		t.Errorf("manifest %+v", next)
	}
	if !reflect.DeepEqual(tip, chainOf(t)) {
		t.Error("the tip was modified")
	}
}

// A slow partition never fails a checkpoint, and what its sinks have seen keeps its number.
func TestPartitionWithoutSealCarriesItsEntryForwardWithMadeKept(t *testing.T) {
	m3 := grown(t, chainOf(t), sealOf(chainOf(t), 1, 0, 4))
	m4 := grown(t, m3, sealOf(m3, 0, 0, 7))
	if !reflect.DeepEqual(m4.Entries[1], m3.Entries[1]) || m4.Entries[1].Made != 3 || m4.Entries[0].Made != 4 {
		t.Errorf("carried: %+v", m4.Entries[1])
	}
}

// The traces: another coordinator committed the same seal; a revoked owner's seal arrives;
// the seal of an earlier life lies in the store; and so on, each with its reason.
func TestSealCommitsOnlyIfAllItNamesIsTheTips(t *testing.T) {
	tip := grown(t, chainOf(t), sealOf(chainOf(t), 0, 0, 7))
	for _, c := range []struct {
		name string
		mod  func(*checkpoint.Seal)
		want checkpoint.Reason
	}{
		{"epoch before", func(s *checkpoint.Seal) { s.Epoch-- }, checkpoint.ReasonEpoch},
		{"epoch after", func(s *checkpoint.Seal) { s.Epoch++ }, checkpoint.ReasonEpoch},
		{"incarnation", func(s *checkpoint.Seal) { s.Incarnation++ }, checkpoint.ReasonIncarnation},
		{"base made", func(s *checkpoint.Seal) { s.Base.Made-- }, checkpoint.ReasonBase},
		{"base seal", func(s *checkpoint.Seal) { s.Base.Seal-- }, checkpoint.ReasonBase},
		{"number of the base", func(s *checkpoint.Seal) { s.Number = tip.Entries[0].Seal }, checkpoint.ReasonNumber},
		{"outbox begins after the base's cut", func(s *checkpoint.Seal) { s.First[0]++ }, checkpoint.ReasonOffsets},
		{"outbox begins before it", func(s *checkpoint.Seal) { s.First[0]-- }, checkpoint.ReasonOffsets},
		{"offsets go back", func(s *checkpoint.Seal) { s.Next[0] = 6 }, checkpoint.ReasonOffsets},
		{"watermark goes back", func(s *checkpoint.Seal) { s.Watermark = 6 }, checkpoint.ReasonWatermark},
		{"claims a number", func(s *checkpoint.Seal) { s.Outbox.Made = 4 }, checkpoint.ReasonMade},
		{"namespace", func(s *checkpoint.Seal) { s.Namespace = "other" }, checkpoint.ReasonForeign},
		{"partition", func(s *checkpoint.Seal) { s.Partition = 2 }, checkpoint.ReasonForeign},
		{"partition below", func(s *checkpoint.Seal) { s.Partition = -1 }, checkpoint.ReasonForeign},
		{"cites another seal's upload", func(s *checkpoint.Seal) {
			other := *s
			other.Number++
			s.Files = []checkpoint.File{fileOf(ns.Part, other, "x")}
		}, checkpoint.ReasonCites},
		{"cites another seal's outbox", func(s *checkpoint.Seal) {
			other := *s
			other.Number--
			s.Outbox.File = fileOf(ns.Outbox, other, "x")
		}, checkpoint.ReasonCites},
		{"cites what another seal staged", func(s *checkpoint.Seal) {
			other := *s
			other.Number--
			s.Outbox.Staged = []checkpoint.File{fileOf(ns.Stage, other, "x")}
		}, checkpoint.ReasonCites},
		{"cites its base's file with another content", func(s *checkpoint.Seal) {
			f := tip.Entries[0].Files[0]
			f.SHA256 = "0" + f.SHA256[1:]
			s.Files = []checkpoint.File{f}
		}, checkpoint.ReasonCites},
	} {
		s := sealOf(tip, 0, 0, 9)
		c.mod(&s)
		next, rejected := checkpoint.NextCheckpoint(tip, []checkpoint.Seal{s}, nil, limits, by("x"))
		if len(rejected) != 1 || rejected[0].Reason != c.want {
			t.Errorf("%s: rejected %v", c.name, rejected)
		}
		if !reflect.DeepEqual(next.Entries, tip.Entries) {
			t.Errorf("%s: the entries changed", c.name)
		}
	}
	good := sealOf(tip, 0, 0, 9)
	good.Files = append(good.Files, tip.Entries[0].Files...)
	good.Outbox.Staged = []checkpoint.File{fileOf(ns.Stage, good, "lake")}
	grown(t, tip, good)
}

func TestSealOfAPartitionAtRestDoesNotCommit(t *testing.T) {
	tip, err := checkpoint.Assign(chainOf(t), limits, by("r"), checkpoint.Start{Partition: 0})
	must(t, err)
	_, rejected := checkpoint.NextCheckpoint(tip, []checkpoint.Seal{sealOf(tip, 0, 0, 1)}, nil, limits, by("x"))
	if len(rejected) != 1 {
		t.Fatal("nobody owns the partition")
	}
}

// Seals [0,4) and then, cumulative, [0,9): the later one holds all of the earlier one.
// If the earlier commits first, the later no longer fits, and its owner seals anew.
func TestUncommittedSealsAreCumulative(t *testing.T) {
	tip := chainOf(t)
	s1 := sealOf(tip, 0, 0, 4)
	s2 := sealOf(tip, 0, s1.Number, 9)
	for _, order := range [][]checkpoint.Seal{{s1, s2}, {s2, s1}} {
		next, rejected := checkpoint.NextCheckpoint(tip, order, nil, limits, by("x"))
		if e := next.Entries[0]; e.Seal != 2 || e.First != offsets(0) || e.Next != offsets(9) || len(e.Pending) != 1 {
			t.Errorf("entry %+v", e)
		}
		if len(rejected) != 1 || rejected[0].Seal != 1 || rejected[0].Reason != checkpoint.ReasonSuperseded {
			t.Errorf("rejected %v", rejected)
		}
	}
	_, rejected := checkpoint.NextCheckpoint(grown(t, tip, s1), []checkpoint.Seal{s2}, nil, limits, by("x"))
	if len(rejected) != 1 || rejected[0].Reason != checkpoint.ReasonBase {
		t.Errorf("rejected %v", rejected)
	}
}

// Publishing lags two checkpoints and the owner dies: both outboxes must still be there.
func TestOutboxLeavesPendingOnlyWhenTheMarkerReachedIt(t *testing.T) {
	m3 := grown(t, chainOf(t), sealOf(chainOf(t), 0, 0, 4))
	m4 := grown(t, m3, sealOf(m3, 0, 0, 7))
	if got := madeOf(m4.Entries[0].Pending); got != "3 4" {
		t.Fatalf("pending %s", got)
	}
	for _, c := range []struct {
		fromSeal, fromCoordinator checkpoint.Number
		want                      string
	}{{3, 0, "4 5"}, {0, 3, "4 5"}, {4, 3, "5"}, {9, 0, "5"}} {
		s := sealOf(m4, 0, 0, 9)
		s.Published = c.fromSeal
		m5, rejected := checkpoint.NextCheckpoint(m4, []checkpoint.Seal{s}, map[schemas.Partition]checkpoint.Number{0: c.fromCoordinator}, limits, by("x"))
		if got := madeOf(m5.Entries[0].Pending); got != c.want || len(rejected) > 0 {
			t.Errorf("%+v: pending %s, %v", c, got, rejected)
		}
	}
	carried, _ := checkpoint.NextCheckpoint(m4, nil, map[schemas.Partition]checkpoint.Number{0: 3}, limits, by("x"))
	if e := carried.Entries[0]; madeOf(e.Pending) != "4" || e.Made != 4 {
		t.Errorf("carried with a marker: %+v", e)
	}
}

func TestRejectedSealsDoNotPrune(t *testing.T) {
	m3 := grown(t, chainOf(t), sealOf(chainOf(t), 0, 0, 4))
	s := sealOf(m3, 0, 0, 7)
	s.Published, s.Epoch = 3, 0
	next, _ := checkpoint.NextCheckpoint(m3, []checkpoint.Seal{s}, nil, limits, by("x"))
	if got := madeOf(next.Entries[0].Pending); got != "3" {
		t.Errorf("pending %q", got)
	}
}

// At the bound sealing stops with an alarm; what brings nothing to publish may go on.
func TestPendingIsBounded(t *testing.T) {
	m := grown(t, chainOf(t), sealOf(chainOf(t), 0, 0, 4))
	m = grown(t, m, sealOf(m, 0, 0, 7))
	if !limits.Full(m.Entries[0], 0) || limits.Full(m.Entries[0], 3) {
		t.Fatal("Full does not say so")
	}
	s := sealOf(m, 0, 0, 9)
	next, rejected := checkpoint.NextCheckpoint(m, []checkpoint.Seal{s}, nil, limits, by("x"))
	if len(rejected) != 1 || rejected[0].Reason != checkpoint.ReasonPending || next.Entries[0].Made != 4 {
		t.Errorf("rejected %v, entry %+v", rejected, next.Entries[0])
	}
	s.Outbox = checkpoint.OutboxRef{}
	grown(t, m, s)
}

// Two manifests grown from one tip must not write into each other's pending, whatever
// capacity the slice happens to have.
func TestManifestsDoNotShareWhatTheyAppendTo(t *testing.T) {
	tip := chainOf(t)
	tip.Entries[0].Pending = make([]checkpoint.OutboxRef, 0, 8)
	a, b := sealOf(tip, 0, 0, 7), sealOf(tip, 0, 0, 8)
	ma := grown(t, tip, a)
	mb := grown(t, tip, b)
	if ma.Entries[0].Pending[0].File != a.Outbox.File || mb.Entries[0].Pending[0].File != b.Outbox.File {
		t.Error("one overwrote the other")
	}
}

func TestOldestFollowsTheTipAndNeverFalls(t *testing.T) {
	m := chainOf(t) // of three members: each makes checkpoints of its own
	for range 12 {
		next, _ := checkpoint.NextCheckpoint(m, nil, nil, checkpoint.Limits{Retain: 2}, by("x"))
		if want := max(1, next.Number-5); next.Oldest != want {
			t.Fatalf("manifest %d: oldest %d, want %d", next.Number, next.Oldest, want)
		}
		m = next
	}
	was := m.Oldest
	for i := range 10 { // moves retire nothing
		moved, err := checkpoint.Assign(m, checkpoint.Limits{Retain: 2}, by("x"),
			checkpoint.Start{Partition: 0, Owner: "b", Incarnation: checkpoint.Incarnation(100 + i)})
		must(t, err)
		m = moved
	}
	if m.Oldest != was {
		t.Fatalf("assignments retired checkpoints %d to %d", was, m.Oldest-1)
	}
	for m.Number-m.Oldest > 5 { // and checkpoints bring the chain back to its bound, slowly
		next, _ := checkpoint.NextCheckpoint(m, nil, nil, checkpoint.Limits{Retain: 2}, by("x"))
		if d := next.Oldest - m.Oldest; d < 1 || d > 2 {
			t.Fatalf("a checkpoint retired %d", d)
		}
		m = next
	}
	wider, _ := checkpoint.NextCheckpoint(m, nil, nil, checkpoint.Limits{Retain: 100}, by("x"))
	if wider.Oldest != m.Oldest {
		t.Fatalf("oldest fell from %d to %d: its stub lies there already", m.Oldest, wider.Oldest)
	}
}
