package pebblestore

import (
	"errors"
	"maps"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"taximeter/checkpoint"
	"taximeter/checkpoint/storetest"
)

// gets counts reads of a store; the failing one errs.
func gets(objects checkpoint.Store, count *atomic.Int64, failing string) checkpoint.Store {
	return &storetest.Faults{Store: objects, Plan: func(op storetest.Op, key string) storetest.Fault {
		if op != storetest.OpGet {
			return storetest.None
		}
		count.Add(1)
		if key == failing {
			return storetest.Lost
		}
		return storetest.None
	}}
}

func TestAMirrorFetchesOnlyWhatIsNewAndAStandbyStartsWithoutTheStore(t *testing.T) {
	sh := shared(t, vfs.NewMem())
	objects := storetest.NewMemory()
	st := openNew(t, "s", sh)
	apply(t, st, map[string]string{"t/a": "1"})
	first := seal(t, st, objects, 1, nil).Files
	apply(t, st, map[string]string{"t/b": "2"})
	second := seal(t, st, objects, 2, first)

	var count atomic.Int64
	m := NewMirror("m", sh)
	if _, err := m.Follow(t.Context(), gets(objects, &count, ""), first); err != nil || count.Load() != int64(len(first)) {
		t.Fatalf("%d gets for %d files, %v", count.Load(), len(first), err)
	}
	count.Store(0)
	fetched, err := m.Follow(t.Context(), gets(objects, &count, ""), second.Files)
	if err != nil || count.Load() != int64(second.NewFiles) || fetched != second.NewBytes {
		t.Errorf("%d gets of %d bytes, want %d of %d; %v", count.Load(), fetched, second.NewFiles, second.NewBytes, err)
	}
	total := int64(0)
	for _, f := range second.Files {
		total += f.Size
	}
	if m.Bytes() != total {
		t.Errorf("it holds %d bytes, want %d", m.Bytes(), total)
	}
	count.Store(0)
	back, err := Restore(t.Context(), gets(objects, &count, ""), second.Files, "r", sh, m.Folder())
	must(t, err)
	if got := content(t, back); count.Load() != 0 || !maps.Equal(got, map[string]string{"t/a": "1", "t/b": "2"}) {
		t.Errorf("%d gets, got %v", count.Load(), got)
	}
	must(t, back.Close())
}

func TestAMirrorDropsWhatIsNoLongerCited(t *testing.T) {
	mem := vfs.NewMem()
	sh := shared(t, mem)
	objects := storetest.NewMemory()
	st := openNew(t, "s", sh)
	apply(t, st, map[string]string{"t/a": "1"})
	files := seal(t, st, objects, 1, nil).Files
	m := NewMirror("m", sh)
	_, err := m.Follow(t.Context(), objects, files)
	must(t, err)
	must(t, errors.Join(vfs.Copy(mem, "m/"+files[0].Name, "m/000099.sst")))
	_, err = m.Follow(t.Context(), objects, files[1:])
	must(t, err)
	names, err := mem.List("m")
	must(t, err)
	if len(names) != len(files)-1 {
		t.Errorf("%d files lie there, want %d: %v", len(names), len(files)-1, names)
	}
	if len(m.Folder().verified) != len(files)-1 {
		t.Errorf("it vouches for %d files", len(m.Folder().verified))
	}
}

// A later life finds the tables of the earlier one, and reads them before it vouches.
func TestAMirrorTakesOverWhatAnEarlierProcessLeft(t *testing.T) {
	mem := vfs.NewMem()
	sh := shared(t, mem)
	objects := storetest.NewMemory()
	st := openNew(t, "s", sh)
	apply(t, st, map[string]string{"t/a": "1"})
	up := seal(t, st, objects, 1, nil)
	_, err := NewMirror("m", sh).Follow(t.Context(), objects, up.Files)
	must(t, err)
	tables := 0
	for _, f := range up.Files {
		if isTable(f.Name) {
			tables++
		}
	}
	var count atomic.Int64
	_, err = NewMirror("m", sh).Follow(t.Context(), gets(objects, &count, ""), up.Files)
	if err != nil || count.Load() != int64(len(up.Files)-tables) {
		t.Errorf("%d gets, want %d; %v", count.Load(), len(up.Files)-tables, err)
	}
}

// What is being replaced may be linked into a store that lives: it must not be written over.
func TestAMirrorDoesNotWriteIntoTheStoreThatItServed(t *testing.T) {
	mem := vfs.NewMem()
	sh := shared(t, mem)
	objects := storetest.NewMemory()
	table := func(content string, n checkpoint.SealNumber) checkpoint.File {
		f, err := checkpoint.WriteFile(t.Context(), objects, []byte(content), func(sum string) string { return ns.Part(checkpoint.Place{Epoch: 1, Seal: n}, sum) })
		must(t, err)
		f.Name = "000001.sst"
		return f
	}
	m := NewMirror("m", sh)
	_, err := m.Follow(t.Context(), objects, []checkpoint.File{table("one", 1)})
	must(t, err)
	must(t, mem.Link("m/000001.sst", "live.sst"))
	_, err = m.Follow(t.Context(), objects, []checkpoint.File{table("two", 2)})
	must(t, err)
	if sum, err := hashFile(mem, "live.sst"); err != nil || sum != table("one", 1).SHA256 {
		t.Errorf("the live store's table changed, %v", err)
	}
}

// An interrupted round vouches for nothing that it did not read to the end.
func TestAMirrorGoesOnAfterAnError(t *testing.T) {
	sh := shared(t, vfs.NewMem())
	objects := storetest.NewMemory()
	st := openNew(t, "s", sh)
	apply(t, st, map[string]string{"t/a": "1"})
	files := seal(t, st, objects, 1, nil).Files
	m := NewMirror("m", sh)
	var count atomic.Int64
	if _, err := m.Follow(t.Context(), gets(objects, &count, files[0].Key), files); err == nil {
		t.Fatal("the store failed and the mirror did not")
	}
	if _, ok := m.Folder().verified[files[0].Name]; ok {
		t.Error("it vouches for what it could not fetch")
	}
	_, err := m.Follow(t.Context(), objects, files)
	must(t, err)
	if len(m.Folder().verified) != len(files) {
		t.Errorf("it holds %d of %d files", len(m.Folder().verified), len(files))
	}
}
