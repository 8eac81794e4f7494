package checkpoint_test

import (
	"strings"
	"testing"

	"taximeter/checkpoint"
)

func TestRestoreCopiesTheOldEntryWithItsPendingUnderANewEpochAndLineage(t *testing.T) {
	m3 := grown(t, chainOf(t), sealOf(chainOf(t), 0, 0, 4))
	m4 := grown(t, m3, sealOf(m3, 0, 0, 7))
	m4.Entries[0].Epoch = 6 // it has been moved about since
	back, err := checkpoint.Restore(m4, m3, limits, by("x"))
	must(t, err)
	e := back.Entries[0]
	if back.Number != 5 || back.Lineage != 2 || back.Cause != checkpoint.CauseRestore {
		t.Errorf("numbers never fall: %+v", back)
	}
	if e.Made != 3 || e.Next != offsets(4) || madeOf(e.Pending) != "3" || e.Files[0] != m3.Entries[0].Files[0] {
		t.Errorf("not the old cut: %+v", e)
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
	if next := grown(t, started, s); next.Entries[0].Made != 7 {
		t.Errorf("made %d", next.Entries[0].Made)
	}
	if s.Files[0].Key == m4.Entries[0].Files[0].Key {
		t.Error("two lines share a key")
	}
}

func TestRestoreRefuses(t *testing.T) {
	m3 := grown(t, chainOf(t), sealOf(chainOf(t), 0, 0, 4))
	m4 := grown(t, m3, sealOf(m3, 0, 0, 7))
	m5 := grown(t, m4) // oldest 3
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
