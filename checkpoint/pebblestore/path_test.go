package pebblestore

import (
	"fmt"
	"maps"
	"path/filepath"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"taximeter/checkpoint"
	"taximeter/checkpoint/objectstore"
	"taximeter/schemas"
)

// The whole way of a checkpoint, as the owner, the coordinator and the next owner wire it:
// apply, snapshot, upload, offer; find, decide, commit; publish; take over, restore.
func TestWayOfACheckpoint(t *testing.T) {
	dir := t.TempDir()
	sh := shared(t, vfs.Default)
	objects := objectstore.NewFolder(filepath.Join(dir, "store"))
	limits := checkpoint.Limits{Retain: 5, MaxPending: 10}
	tokens := 0
	stamp := func(id checkpoint.NodeID) checkpoint.Stamp {
		tokens++
		return checkpoint.Stamp{At: 1, By: id, Token: fmt.Sprint(id, tokens)}
	}
	commit := func(c *checkpoint.Chain, m checkpoint.Manifest, err error) checkpoint.Manifest {
		t.Helper()
		must(t, err)
		won, tip, err := c.Commit(t.Context(), m)
		if !won || err != nil {
			t.Fatal(won, err)
		}
		return tip
	}

	chain := checkpoint.NewChain(objects, ns)
	tip := commit(chain, checkpoint.Genesis(ns, [schemas.NumInputs]string{"x", "y", "z"}, make([]checkpoint.Offsets, 1), stamp("a")), nil)
	m, err := checkpoint.Assign(tip, limits, stamp("a"), checkpoint.Start{Partition: 0, Owner: "a", Incarnation: 1})
	tip = commit(chain, m, err)
	st, err := Restore(t.Context(), objects, tip.Entries[0].Files, filepath.Join(dir, "a"), sh)
	must(t, err)
	want := make(map[string]string)
	last := checkpoint.SealNumber(0)
	for n := range 4 {
		// The owner, on its own goroutine:
		s := checkpoint.NewSeal(tip, 0, last)
		last = s.Number
		s.Next = checkpoint.Offsets{schemas.Offset(n+1) * 10, 0, 0}
		key, value := fmt.Sprint("t/trip", n), fmt.Sprint("state ", n)
		want[key], want["h"] = value, fmt.Sprint(n)
		apply(t, st, map[string]string{key: value, "h": fmt.Sprint(n)})
		snap, err := st.Checkpoint(filepath.Join(dir, fmt.Sprint("a-snap-", s.Number)))
		must(t, err)
		outbox := schemas.Outbox{Windows: []schemas.Window{{TripID: "t", Version: n}}}

		// Beside it:
		up, err := snap.Upload(t.Context(), objects, ns, s.Place(), tip.Entries[0].Files)
		must(t, err)
		must(t, snap.Remove())
		s.Files = up.Files
		s.Outbox.File, err = checkpoint.WriteFile(t.Context(), objects, checkpoint.EncodeOutbox(outbox, checkpoint.NewestProtocol), func(sha string) string { return ns.Outbox(s.Place(), sha) })
		must(t, err)
		must(t, checkpoint.Offer(t.Context(), objects, s))

		// The coordinator:
		seals, err := chain.Seals(t.Context(), tip)
		must(t, err)
		m, rejected := checkpoint.NextCheckpoint(tip, seals, nil, limits, stamp("a"))
		if len(rejected) > 0 {
			t.Fatal(rejected)
		}
		tip = commit(chain, m, nil)
	}

	// Another node takes over from the chain alone, reusing what lies there.
	must(t, st.Close())
	other := checkpoint.NewChain(objects, ns)
	tip, err = other.Tip(t.Context())
	must(t, err)
	m, err = checkpoint.Assign(tip, limits, stamp("b"), checkpoint.Join{Node: "b"}, checkpoint.Start{Partition: 0, Owner: "b", Incarnation: 1})
	tip = commit(other, m, err)
	back, err := Restore(t.Context(), objects, tip.Entries[0].Files, filepath.Join(dir, "b"), sh, Folder{Dir: filepath.Join(dir, "a")})
	must(t, err)
	if got := content(t, back); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	must(t, back.Close())
	for i, ref := range tip.Entries[0].Unpublished(3) {
		data, err := checkpoint.ReadFile(t.Context(), objects, ref.File)
		must(t, err)
		out, err := checkpoint.DecodeOutbox(ref.File.Key, data)
		if err != nil || ref.Made != checkpoint.Number(4+i) || out.Windows[0].Version != i+1 {
			t.Errorf("outbox %d: %+v, %v", ref.Made, out, err)
		}
	}
	_, err = other.Collect(t.Context())
	must(t, err)
	again, err := Restore(t.Context(), objects, tip.Entries[0].Files, filepath.Join(dir, "c"), sh)
	must(t, err)
	must(t, again.Close())
}
