package objectstore

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taximeter/checkpoint"
	"taximeter/checkpoint/storetest"
)

func TestFolder(t *testing.T) {
	storetest.Run(t, func(t *testing.T) checkpoint.Store {
		return NewFolder(filepath.Join(t.TempDir(), "made", "by", "the", "first", "write"))
	})
}

// Two Folder values stand for two processes: they share nothing but the files.
func TestFolderIsSharedBetweenProcesses(t *testing.T) {
	root := t.TempDir()
	a, b := NewFolder(root), NewFolder(root)
	w, err := a.PutIfAbsent(t.Context(), "ns/k", strings.NewReader("a"))
	if err != nil || !w.Stored {
		t.Fatal(w, err)
	}
	if w, err := b.PutIfAbsent(t.Context(), "ns/k", strings.NewReader("b")); err != nil || w.Stored {
		t.Fatalf("the other process replaced it: %+v, %v", w, err)
	}
	if w, err := b.PutIfMatch(t.Context(), "ns/k", w.ETag, strings.NewReader("b")); err != nil || !w.Stored {
		t.Fatal(w, err)
	}
}

func TestFolderThatCannotBeWrittenSaysSo(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(file, "below-a-file")
	err := Check(t.Context(), NewFolder(root), "probe/1")
	if err == nil || errors.Is(err, checkpoint.ErrNotFound) || !strings.Contains(err.Error(), root) || !strings.Contains(err.Error(), "may write") {
		t.Fatalf("got %v", err)
	}
}

func TestFolderRefusesKeysThatLeaveIt(t *testing.T) {
	f := NewFolder(t.TempDir())
	for _, key := range []string{"", "/a", "a//b", "a/", "../x", "a/../x", ".tmp/x", "a/.b", `a\b`, "a\x00"} {
		if err := f.Put(t.Context(), key, strings.NewReader("x")); err == nil || !strings.Contains(err.Error(), "key") {
			t.Errorf("key %q: %v", key, err)
		}
	}
}

// What a crash leaves half-written is never an object.
func TestFolderHidesUnfinishedFiles(t *testing.T) {
	f := NewFolder(t.TempDir())
	if _, err := f.temp(strings.NewReader("half")); err != nil {
		t.Fatal(err)
	}
	for info, err := range f.List(t.Context(), "", "") {
		t.Fatalf("listed %s: %v", info.Key, err)
	}
}

func TestCheckFindsAStoreWithoutConditions(t *testing.T) {
	if err := Check(t.Context(), NewFolder(t.TempDir()), "probe/1"); err != nil {
		t.Fatal(err)
	}
	err := Check(t.Context(), unconditional{storetest.NewMemory()}, "probe/1")
	if err == nil || !strings.Contains(err.Error(), "If-None-Match") {
		t.Fatalf("got %v", err)
	}
}
