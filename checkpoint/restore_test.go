package checkpoint_test

import (
	"strings"
	"testing"

	"taximeter/checkpoint"
	"taximeter/schemas"
)

func TestRestoreCopiesTheOldCutUnderANewEpochAndLineage(t *testing.T) {
	m3 := grown(t, chainOf(t), sealOf(chainOf(t), 0, 0, 4))
	m4 := grown(t, m3, sealOf(m3, 0, 0, 7))
	m4.Entries[0].Epoch = 6 // it has been moved about since
	back, err := checkpoint.Restore(m4, m3, limits, by("x"))
	must(t, err)
	e := back.Entries[0]
	if back.Number != 5 || back.Lineage != 2 || back.Cause != checkpoint.CauseRestore {
		t.Errorf("numbers never fall: %+v", back)
	}
	if e.Made != 3 || e.Next != offsets(4) || e.Files[0] != m3.Entries[0].Files[0] {
		t.Errorf("not the old cut: %+v", e)
	}
	// What was committed becomes public, whichever line made it: else a marker past it would
	// say that it was, and a restore to its own line would lose it.
	if madeOf(e.Pending) != "3 4" {
		t.Errorf("pending %s", madeOf(e.Pending))
	}
	damaged, err := checkpoint.Restore(m4, m3, limits, by("x"), m4.Entries[0].Pending[1].File.Key)
	must(t, err)
	if e := damaged.Entries[0]; madeOf(e.Pending) != "3" || madeOf(m4.Entries[0].Pending) != "3 4" {
		t.Errorf("pending %s without the outbox that cannot be read", madeOf(e.Pending))
	}
	if e.Epoch != m4.Entries[0].Epoch+1 || e.Owner != "" || e.Incarnation != 0 {
		t.Errorf("owners are not revoked: %+v", e)
	}
	// The seal that had won before fits no more, though the base is the same.
	_, rejected := checkpoint.NextCheckpoint(back, []checkpoint.Seal{sealOf(m3, 0, 0, 7)}, nil, limits, by("x"))
	if len(rejected) != 1 {
		t.Error("a seal of the abandoned line was committed")
	}
	// A run after it makes entries with numbers that no sink has seen, and names that no
	// upload of the abandoned line has.
	started, err := checkpoint.Assign(back, limits, by("x"), checkpoint.Start{Partition: 0, Owner: "b", Incarnation: 5})
	must(t, err)
	s := sealOf(started, 0, 0, 7)
	s.Published = 4
	if next := grown(t, started, s); next.Entries[0].Made != 7 {
		t.Errorf("made %d", next.Entries[0].Made)
	}
	if s.Files[0].Key == m4.Entries[0].Files[0].Key {
		t.Error("two lines share a key")
	}
}

func TestARestoreTellsWhatItLeavesBehind(t *testing.T) {
	m3 := grown(t, chainOf(t), sealOf(chainOf(t), 0, 0, 4))
	m4 := grown(t, m3, sealOf(m3, 0, 0, 7))
	back, err := checkpoint.Restore(m4, m3, limits, by("x"))
	must(t, err)
	a := back.Entries[0].Abandoned
	if a == nil || a.Since != m3.CreatedAt || a.Next != offsets(7) || a.Watermark != 7 {
		t.Fatalf("%+v", a)
	}
	for n, want := range map[checkpoint.Number]bool{3: false, 4: true, 5: false} {
		if a.Holds(n) != want {
			t.Errorf("holds %d: %t", n, !want)
		}
	}
	// It stays until a run has come there.
	tip, err := checkpoint.Assign(back, limits, by("x"), checkpoint.Start{Partition: 0, Owner: "b", Incarnation: 5})
	must(t, err)
	s := sealOf(tip, 0, 0, 5)
	s.Published = 4
	onTheWay := grown(t, tip, s)
	if onTheWay.Entries[0].Abandoned == nil {
		t.Error("forgotten on the way")
	}
	s = sealOf(onTheWay, 0, 0, 8)
	s.Reached, s.Outbox.File = true, checkpoint.File{}
	if there := grown(t, onTheWay, s); there.Entries[0].Abandoned != nil {
		t.Error("not forgotten when reached")
	}
	// A second restore before that: both lines are left behind, up to the further one's end.
	lim := checkpoint.Limits{Retain: 9, MaxPending: 2}
	twice, err := checkpoint.Restore(onTheWay, back, lim, by("y"))
	must(t, err)
	a = twice.Entries[0].Abandoned
	if a.Next != offsets(7) || a.Watermark != 7 || !a.Holds(4) || a.Holds(5) || !a.Holds(7) {
		t.Errorf("%+v", a)
	}
	if to, err := checkpoint.Restore(back, back, lim, by("z")); err != nil || to.Entries[0].Abandoned != back.Entries[0].Abandoned {
		t.Errorf("a restore to the tip itself leaves nothing more behind: %v", err)
	}
	_, err = checkpoint.EncodeManifest(twice)
	must(t, err)
}

// An operator moves consumption back, and the namespace is taken back before any seal: what is
// public reaches to where the cut stood, not only to where consumption was to go on.
func TestWhatIsLeftBehindReachesToTheCutThoughTheOffsetWasMovedBack(t *testing.T) {
	m3 := grown(t, chainOf(t), sealOf(chainOf(t), 0, 0, 4))
	m4 := grown(t, m3, sealOf(m3, 0, 0, 7))
	back := moved(t, m4, checkpoint.SetOffset{Partition: 0, Topic: schemas.Telemetry, Next: 5})
	m6, err := checkpoint.Restore(back, m3, limits, by("x"))
	must(t, err)
	if a := m6.Entries[0].Abandoned; a.Next != offsets(7) {
		t.Errorf("the line left behind stood at %v", a.Next)
	}
	// A cut that the restored checkpoint has too is none of the line left behind: it may be of
	// a topic that was created anew, whose offsets begin again.
	m5 := moved(t, m4, checkpoint.SetOffset{Partition: 0, Topic: schemas.Telemetry, Next: 2}, checkpoint.SetOffset{Partition: 1, Topic: schemas.Telemetry, Next: 0},
		checkpoint.AdoptTopic{Topic: schemas.Telemetry, ID: "new"})
	m6, err = checkpoint.Restore(grown(t, m5), m5, limits, by("x"))
	must(t, err)
	if a := m6.Entries[0].Abandoned; a.Next[schemas.Telemetry] != 2 {
		t.Errorf("the line left behind stood at %v of another topic", a.Next)
	}
}

func TestRestoreRefuses(t *testing.T) {
	m3 := grown(t, chainOf(t), sealOf(chainOf(t), 0, 0, 4))
	m4 := grown(t, m3, sealOf(m3, 0, 0, 7))
	m5 := grown(t, m4)
	m5.Oldest = 3
	for want, old := range map[string]checkpoint.Manifest{
		"oldest that is has number 3": chainOf(t),
		"later than the tip":          grown(t, m5),
		"namespace":                   func() checkpoint.Manifest { m := m4; m.Namespace = "other"; return m }(),
		"partitions":                  func() checkpoint.Manifest { m := m4; m.Entries = m.Entries[:1]; return m }(),
		"created anew":                func() checkpoint.Manifest { m := m4; m.TopicIDs[1] = "new"; return m }(),
	} {
		if _, err := checkpoint.Restore(m5, old, limits, by("x")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	_, err := checkpoint.Restore(m5, m3, limits, by("x"))
	must(t, err)
}
