package checkpoint_test

import (
	"errors"
	"strings"
	"testing"

	"taximeter/checkpoint"
	"taximeter/schemas"
)

func moved(t *testing.T, tip checkpoint.Manifest, changes ...checkpoint.Change) checkpoint.Manifest {
	t.Helper()
	next, err := checkpoint.Assign(tip, limits, by("operator"), changes...)
	must(t, err)
	return next
}

func TestSetOffsetMovesWhereARunGoesOnAndKeepsTheCut(t *testing.T) {
	m3 := grown(t, chainOf(t), sealOf(chainOf(t), 0, 0, 4))
	m4 := moved(t, m3, checkpoint.SetOffset{Partition: 0, Topic: schemas.Rides, Next: 9})
	was, e := m3.Entries[0], m4.Entries[0]
	if m4.Cause != checkpoint.CauseOffsets || e.Next != (checkpoint.Offsets{4, 9, 0}) || e.Stands() != offsets(4) {
		t.Errorf("%s: next %v, stands %v", m4.Cause, e.Next, e.Stands())
	}
	if e.Epoch != was.Epoch+1 || e.Owner != "" || e.Incarnation != 0 {
		t.Errorf("the owner is not revoked: %+v", e)
	}
	if e.Base() != was.Base() || e.First != was.First || e.Files[0] != was.Files[0] || madeOf(e.Pending) != "3" {
		t.Errorf("the cut changed: %+v", e)
	}
	if m4.Entries[1].Epoch != m3.Entries[1].Epoch {
		t.Error("another partition is revoked")
	}
	if m3.Entries[0].Cut != nil || m3.Entries[0].Next != offsets(4) {
		t.Error("the manifest before was changed")
	}
	// Once more, before any seal: the files still stand where they stood.
	m5 := moved(t, m4, checkpoint.SetOffset{Partition: 0, Topic: schemas.Rides, Next: 2}, checkpoint.SetOffset{Partition: 0, Topic: schemas.Payments, Next: 5})
	e = m5.Entries[0]
	if e.Next != (checkpoint.Offsets{4, 2, 5}) || e.Stands() != offsets(4) || e.Epoch != m4.Entries[0].Epoch+1 {
		t.Errorf("next %v, stands %v, epoch %d", e.Next, e.Stands(), e.Epoch)
	}
	_, err := checkpoint.EncodeManifest(m5) // also with the first offset after the next
	must(t, err)
	// The run that follows begins there, and its first seal ends the matter.
	m6 := moved(t, m5, checkpoint.Start{Partition: 0, Owner: "b", Incarnation: 5})
	if m6.Entries[0].Cut == nil {
		t.Fatal("a start forgets where the files stand")
	}
	s := checkpoint.NewSeal(m6, 0, 0)
	s.Next, s.Watermark = checkpoint.Offsets{5, 3, 6}, 9
	m7 := grown(t, m6, s)
	if e = m7.Entries[0]; e.Cut != nil || e.First != (checkpoint.Offsets{4, 2, 5}) || e.Stands() != e.Next {
		t.Errorf("after a seal: %+v", e)
	}
}

func TestASealThatTheOldOffsetsSpeakOfDoesNotEnter(t *testing.T) {
	m3 := grown(t, chainOf(t), sealOf(chainOf(t), 0, 0, 4))
	late := sealOf(m3, 0, 0, 7)
	m4 := moved(t, m3, checkpoint.SetOffset{Partition: 0, Topic: schemas.Rides, Next: 9})
	if _, rejected := checkpoint.NextCheckpoint(m4, []checkpoint.Seal{late}, nil, limits, by("x")); len(rejected) != 1 {
		t.Error("the revoked owner's seal was committed")
	}
}

func TestSetOffsetRefuses(t *testing.T) {
	m := chainOf(t)
	for want, changes := range map[string][]checkpoint.Change{
		"does not exist":           {checkpoint.SetOffset{Partition: 7}},
		"no offset -1":             {checkpoint.SetOffset{Next: -1}},
		"of topic 3":               {checkpoint.SetOffset{Topic: 3}},
		"started in the same":      {checkpoint.Start{Owner: "b", Incarnation: 3}, checkpoint.SetOffset{}},
		"assigned twice":           {checkpoint.SetOffset{}, checkpoint.Start{Owner: "b", Incarnation: 3}},
		"has the id \"t1\"":        {checkpoint.SetOffset{}, checkpoint.SetOffset{Partition: 1}, checkpoint.AdoptTopic{ID: "t1"}},
		"partition 1 needs":        {checkpoint.SetOffset{}, checkpoint.AdoptTopic{ID: "new"}},
		"partition 0 needs an off": {checkpoint.AdoptTopic{ID: "new"}},
	} {
		_, err := checkpoint.Assign(m, limits, by("x"), changes...)
		if !errors.Is(err, checkpoint.ErrRefused) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestARecreatedTopicIsAdoptedWithOffsetsOfAllPartitions(t *testing.T) {
	m := chainOf(t)
	m.Entries[1].Abandoned = &checkpoint.Abandoned{Next: checkpoint.Offsets{100, 40, 50}}
	next := moved(t, m, checkpoint.SetOffset{Partition: 0, Topic: schemas.Rides, Next: 0},
		checkpoint.SetOffset{Partition: 1, Topic: schemas.Rides, Next: 3}, checkpoint.AdoptTopic{Topic: schemas.Rides, ID: "new"})
	if next.TopicIDs != [schemas.NumInputs]string{"t1", "new", "t3"} || m.TopicIDs[schemas.Rides] != "t2" {
		t.Errorf("ids %v, before %v", next.TopicIDs, m.TopicIDs)
	}
	if next.Entries[1].Next[schemas.Rides] != 3 {
		t.Errorf("%+v", next.Entries[1])
	}
	// What a restore left behind is not waited for in another log.
	if got := next.Entries[1].Abandoned.Next; got != (checkpoint.Offsets{100, 0, 50}) || m.Entries[1].Abandoned.Next[1] != 40 {
		t.Errorf("%v", got)
	}
	if _, err := checkpoint.Restore(next, m, limits, by("x")); err == nil {
		t.Error("a manifest of the old topic's offsets was restored")
	}
}
