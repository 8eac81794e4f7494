package outfile

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"testing"
)

func TestFilesAppearWholeOrNotAtAll(t *testing.T) {
	dir := t.TempDir()
	var files []*File
	for _, name := range []string{"a", "b.gz"} {
		f, err := Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(f, "text of "+name); err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	if _, err := os.Stat(filepath.Join(dir, "a")); !os.IsNotExist(err) {
		t.Errorf("a is there before it is published: %v", err)
	}
	if err := Publish(files...); err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if err := f.Discard(); err != nil {
			t.Errorf("discard after publish: %v", err)
		}
	}
	if b, err := os.ReadFile(filepath.Join(dir, "a")); err != nil || string(b) != "text of a" {
		t.Errorf("%q, %v", b, err)
	}
	zipped, err := os.Open(filepath.Join(dir, "b.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer zipped.Close()
	plain, err := gzip.NewReader(zipped)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(plain); err != nil || string(b) != "text of b.gz" {
		t.Errorf("%q, %v", b, err)
	}
	only(t, dir, "a", "b.gz")
}

func TestDiscardLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	f, err := Create(filepath.Join(dir, "a"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	if err := f.Discard(); err != nil {
		t.Fatal(err)
	}
	only(t, dir)
}

// A name taken in the meantime by something that cannot be replaced: what was named before it is
// gone again, since the rest is missing.
func TestAFailedPublishLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	var files []*File
	for _, name := range []string{"before", "taken", "after"} {
		f, err := Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	if err := os.Mkdir(filepath.Join(dir, "taken"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := Publish(files...); err == nil {
		t.Fatal("published over a folder")
	}
	only(t, dir, "taken")
	if _, err := Create(filepath.Join(dir, "taken")); err == nil {
		t.Error("a folder is no file to write")
	}
}

func TestOlderFilesMakeWayAllOrNone(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"a", "b", "input"} {
		if err := os.WriteFile(at(name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := MakeWay([]string{dir + "/./input"}, at("a"), at("input")); err == nil {
		t.Error("what is read would be written over")
	}
	if err := MakeWay(nil, at("a"), dir); err == nil {
		t.Error("a folder made way")
	}
	only(t, dir, "a", "b", "input")
	if err := MakeWay([]string{at("input"), at("nowhere")}, at("a"), at("b"), at("c")); err != nil {
		t.Error(err)
	}
	only(t, dir, "input")
}

func only(t *testing.T, dir string, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != len(names) {
		t.Fatalf("%v, want %v", entries, names)
	}
	for i, e := range entries {
		if e.Name() != names[i] {
			t.Errorf("%v, want %v", entries, names)
		}
	}
}
