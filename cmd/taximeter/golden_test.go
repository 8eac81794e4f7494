package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taximeter/checkpoint"
)

// golden holds the checkpoint stores that earlier programs wrote, a folder each. They are
// never written again: what a release has written, every later one must read. To add one,
// run this test with TAXIMETER_GOLDEN=name.
const golden = "testdata/golden"

// Checkpoints of every format ever released are read whole: manifest, outboxes, local
// stores, headers and trips.
func TestGoldenCheckpointsAreReadWhole(t *testing.T) {
	if name := os.Getenv("TAXIMETER_GOLDEN"); name != "" {
		writeGolden(t, filepath.Join(golden, name))
	}
	releases, err := os.ReadDir(golden)
	if err != nil || len(releases) == 0 {
		t.Fatalf("no golden checkpoints: %v", err)
	}
	for _, r := range releases {
		t.Run(r.Name(), func(t *testing.T) {
			store := filepath.Join(t.TempDir(), "store") // reading leaves locks behind
			if err := os.CopyFS(store, os.DirFS(filepath.Join(golden, r.Name()))); err != nil {
				t.Fatal(err)
			}
			got := taximeter(t, "checkpoint", "verify", "--store", store)
			if !strings.Contains(got, "is whole") || !strings.Contains(got, "states of 2 partitions\n12 trips readable, 147 records accounted for") || !strings.HasSuffix(got, "exit 0\n") {
				t.Error(got)
			}
		})
	}
}

// writeGolden keeps the store of a node that has run three rounds, with its last outboxes
// pending.
func writeGolden(t *testing.T, dir string) {
	t.Helper()
	x := newTown(t)
	x.start()
	for range 3 {
		x.round()
		x.consumed()
	}
	if _, err := x.node.Checkpoint(x.ctx); err != nil {
		t.Fatal(err)
	}
	newest, err := checkpoint.NewChain(must(x.cfg.Store.Open()), "taximeter").Newest(x.ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("checkpoint %d", newest)
	if err := os.CopyFS(dir, os.DirFS(x.cfg.Store.Folder)); err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasPrefix(d.Name(), ".") {
			return os.Remove(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
