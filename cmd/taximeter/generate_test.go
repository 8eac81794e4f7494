package main

import (
	"bytes"
	"context"
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

// Ctrl-C ends what writes files, and leaves nothing of them.
func TestWhatWritesFilesCanBeInterrupted(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("cars.csv", []byte("track_no,car_no,ts,lat,lon\n1,c1,1764000000,41.0,-8.6\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	pressed, press := context.WithCancel(t.Context())
	press()
	for _, args := range [][]string{{"generate", "--count", "1000000000", "--out", "."}, {"convert", "envirocar", "cars.csv", "-o", "cars.jsonl"}} {
		var said bytes.Buffer
		if code := run(pressed, args, &said, &said); code != exitError || said.String() != "taximeter: interrupted\n" {
			t.Errorf("%v: exit %d: %s", args, code, &said)
		}
	}
	if left := list(t); left != "cars.csv\n" {
		t.Errorf("left: %s", left)
	}
}
