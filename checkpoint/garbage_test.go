package checkpoint_test

import (
	"slices"
	"testing"

	"taximeter/checkpoint"
)

func TestCollectableIsWhatNothingCitesAndNothingCanCite(t *testing.T) {
	m2 := chainOf(t)
	s1 := sealOf(m2, 0, 0, 4)
	s1.Outbox.Staged = []checkpoint.File{fileOf(ns.Stage, s1, "lake")}
	m3 := grown(t, m2, s1)
	abandoned := sealOf(m3, 0, 0, 6) // never committed: number 2
	s3 := sealOf(m3, 0, abandoned.Number, 7)
	m4 := grown(t, m3, s3)
	done := sealOf(m4, 0, 0, 8)
	done.Published = 4
	m5 := grown(t, m4, done)
	m6 := grown(t, m5)
	coming := sealOf(m6, 0, 0, 9)
	old := coming
	old.Epoch = 0
	newRun := coming
	newRun.Epoch, newRun.Number = 2, 1

	part := func(s checkpoint.Seal) string { return s.Files[0].Key }
	for _, c := range []struct {
		name     string
		retained []checkpoint.Manifest
		key      string
		want     bool
	}{
		{"the tip's file", []checkpoint.Manifest{m4, m5, m6}, part(done), false},
		{"a file of a retained manifest only", []checkpoint.Manifest{m4, m5, m6}, part(s3), false},
		{"a file of a manifest no longer retained", []checkpoint.Manifest{m4, m5, m6}, part(s1), true},
		{"an outbox pending in a retained manifest", []checkpoint.Manifest{m4, m5, m6}, s1.Outbox.File.Key, false},
		{"what a sink staged for it", []checkpoint.Manifest{m4, m5, m6}, s1.Outbox.Staged[0].Key, false},
		{"the file of a seal that never won", []checkpoint.Manifest{m4, m5, m6}, part(abandoned), true},
		{"the outbox of a seal that never won", []checkpoint.Manifest{m4, m5, m6}, abandoned.Outbox.File.Key, true},
		{"a seal that was committed", []checkpoint.Manifest{m4, m5, m6}, s3.Key(), true},
		{"the file of a seal to come", []checkpoint.Manifest{m4, m5, m6}, part(coming), false},
		{"a seal to come", []checkpoint.Manifest{m4, m5, m6}, coming.Key(), false},
		{"the upload of a run newer than this tip", []checkpoint.Manifest{m4, m5, m6}, ns.Part(newRun.Place(), done.Files[0].SHA256), false},
		{"a revoked owner's upload", []checkpoint.Manifest{m4, m5, m6}, ns.Part(old.Place(), done.Files[0].SHA256), true},
		{"seen from an older tip", []checkpoint.Manifest{m2, m3, m4}, part(done), false},
		{"a manifest", []checkpoint.Manifest{m4, m5, m6}, ns.Manifest(1), false},
		{"a heartbeat", []checkpoint.Manifest{m4, m5, m6}, ns.Node("a"), false},
		{"another namespace", []checkpoint.Manifest{m4, m5, m6}, "other" + part(s1)[len(ns):], false},
		{"a key we did not make", []checkpoint.Manifest{m4, m5, m6}, "sim/part/0/readme.txt", false},
		{"a partition we do not have", []checkpoint.Manifest{m4, m5, m6}, ns.Part(checkpoint.Place{Partition: 9}, s1.Files[0].SHA256), false},
	} {
		retained := slices.Clone(c.retained)
		last := &retained[len(retained)-1]
		last.Oldest = retained[0].Number
		got, err := checkpoint.Collectable(retained, []string{c.key})
		must(t, err)
		if (len(got) == 1) != c.want {
			t.Errorf("%s: collectable = %v", c.name, got)
		}
	}
}

// With a retained manifest missing, what only it cites would look like garbage.
func TestCollectableDemandsEveryRetainedManifest(t *testing.T) {
	m3 := grown(t, chainOf(t), sealOf(chainOf(t), 0, 0, 4))
	m4 := grown(t, m3, sealOf(m3, 0, 0, 7))
	for name, retained := range map[string][]checkpoint.Manifest{
		"none": nil, "the tip only": {m4}, "a gap": {chainOf(t), m4}, "too many": {m3, chainOf(t), m3, m4}} {
		if got, err := checkpoint.Collectable(retained, nil); err == nil {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestPlaceOfReadsOnlyKeysOfThisLayout(t *testing.T) {
	pl := checkpoint.Place{Partition: 12, Epoch: 3, Seal: 45}
	sha := fileOf(ns.Part, checkpoint.Seal{}, "x").SHA256
	for _, key := range []string{ns.Part(pl, sha), ns.Outbox(pl, sha), ns.Stage(pl, sha), ns.Seal(pl)} {
		if got, ok := ns.PlaceOf(key); !ok || got != pl {
			t.Errorf("%s: %+v, %t", key, got, ok)
		}
	}
	for _, key := range []string{"", "sim", "sim/part/12", "sim/part/12/3-45-x", "sim/part/012/0000000003-000000000045-" + sha[:32], "sim/part/12/3-45-" + sha[:32],
		"sim/seal/12/0000000003-000000000045-" + sha[:32], "sim/part/12/0000000003-000000000045", "x/part/12/0000000003-000000000045-" + sha[:32]} {
		if got, ok := ns.PlaceOf(key); ok {
			t.Errorf("%s: %+v", key, got)
		}
	}
}
