package operator

import (
	"log/slog"
	"path/filepath"
	"slices"
	"testing"

	"taximeter/actors/partition"
	"taximeter/checkpoint"
	"taximeter/checkpoint/pebblestore"
	"taximeter/checkpoint/storetest"
)

// state is a checkpoint of one partition that has seen nothing and has these rows beside its header.
func state(t *testing.T, objects checkpoint.Store, rows ...string) checkpoint.Manifest {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	shared := pebblestore.NewShared(pebblestore.Default(), slog.New(slog.DiscardHandler))
	defer shared.Close()
	dir := filepath.Join(t.TempDir(), "state")
	st, err := pebblestore.Open(dir, shared)
	must(err)
	defer func() { must(st.Close()) }()
	p := partition.New(0, partition.Live, partition.Settings{}, nil, nil, nil, 0)
	batch := st.NewBatch()
	for _, c := range p.Seal(1).Changes {
		batch.Put(c.Key, c.Value)
	}
	for _, key := range rows {
		batch.Put([]byte(key), []byte("x"))
	}
	must(st.Apply(t.Context(), batch))
	snapshot, err := st.Checkpoint(dir + "-snapshot")
	must(err)
	up, err := snapshot.Upload(t.Context(), objects, "taximeter", checkpoint.Place{Epoch: 1, Seal: 1}, nil)
	must(err)
	must(snapshot.Remove())
	return checkpoint.Manifest{Number: 1, Entries: []checkpoint.Entry{{Files: up.Files, Watermark: p.Watermark()}}}
}

func TestVerifyTellsOfRowsThatNoTripKnowsOf(t *testing.T) {
	for name, c := range map[string]struct {
		rows []string
		want []Orphans
	}{
		"none":           {nil, []Orphans{}},
		"a head by age":  {[]string{"v/\x00\x00\x00\x07\x01a"}, []Orphans{{0, 1, "a"}}},
		"points by age":  {[]string{"v/\x00\x00\x00\x07\x01b\x00\x00\x00\x00", "v/\x00\x00\x00\x08\x01a\x00\x00\x00\x01"}, []Orphans{{0, 2, "b"}}},
		"points by id":   {[]string{"t/\x01a\x00\x00\x00\x00"}, []Orphans{{0, 1, "a"}}},
		"no trip's form": {[]string{"v/?"}, []Orphans{{0, 1, ""}}},
	} {
		t.Run(name, func(t *testing.T) {
			objects := storetest.NewMemory()
			r, err := Verify(t.Context(), objects, state(t, objects, c.rows...), VerifyOptions{Scratch: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
			if err != nil || len(r.Faults) > 0 || r.Headers != 1 {
				t.Fatalf("%+v, %v", r, err)
			}
			if !slices.Equal(r.Orphans, c.want) {
				t.Errorf("got %+v, want %+v", r.Orphans, c.want)
			}
		})
	}
}
