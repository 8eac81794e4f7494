package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// The same flags give the same bytes, as the help says.
func TestGenerateTwiceGivesTheSameBytes(t *testing.T) {
	dir := t.TempDir()
	one, two, other := filepath.Join(dir, "1"), filepath.Join(dir, "2"), filepath.Join(dir, "3")
	mustTaxi(t, "generate", "--count", "5000", "--out", one)
	mustTaxi(t, "generate", "--count", "5000", "--out", two)
	mustTaxi(t, "generate", "--count", "5000", "--out", other, "--seed", "2")
	files, err := os.ReadDir(one)
	if err != nil || len(files) != 3 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		read := func(dir string) []byte {
			b, err := os.ReadFile(filepath.Join(dir, f.Name()))
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
		if !bytes.Equal(read(one), read(two)) {
			t.Errorf("%s differs", f.Name())
		}
		if f.Name() == "events.jsonl.gz" && bytes.Equal(read(one), read(other)) {
			t.Error("another seed gives the same events")
		}
	}
}
