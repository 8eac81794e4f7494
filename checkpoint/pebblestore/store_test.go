package pebblestore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"taximeter/checkpoint"
	"taximeter/checkpoint/storetest"
)

const ns = checkpoint.Namespace("ns")

func shared(t testing.TB, fs vfs.FS) *Shared {
	s := newShared(Config{CacheBytes: 8 << 20, OpenFiles: 256}, slog.New(slog.DiscardHandler), fs)
	t.Cleanup(s.Close)
	return s
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func openNew(t testing.TB, dir string, sh *Shared) *Store {
	t.Helper()
	st, err := Open(dir, sh)
	must(t, err)
	t.Cleanup(func() { must(t, st.Close()) })
	return st
}

func apply(t testing.TB, st *Store, rows map[string]string) {
	t.Helper()
	b := st.NewBatch()
	for k, v := range rows {
		b.Put([]byte(k), []byte(v))
	}
	must(t, st.Apply(context.Background(), b))
}

func content(t testing.TB, st *Store) map[string]string {
	t.Helper()
	rows := make(map[string]string)
	must(t, st.Scan(nil, func(k, v []byte) error {
		if !bytes.Equal(k, formatKey) {
			rows[string(k)] = string(v)
		}
		return nil
	}))
	return rows
}

// seal snapshots and uploads the store as seal n of epoch 1, growing from base.
func seal(t testing.TB, st *Store, objects checkpoint.Store, n checkpoint.SealNumber, base []checkpoint.File) Uploaded {
	t.Helper()
	snap, err := st.Checkpoint(fmt.Sprint(st.dir, "-snap-", n))
	must(t, err)
	up, err := snap.Upload(context.Background(), objects, ns, checkpoint.Place{Partition: 3, Epoch: 1, Seal: n}, base)
	must(t, err)
	must(t, snap.Remove())
	return up
}

func TestBatchIsDoneInOrder(t *testing.T) {
	st := openNew(t, "s", shared(t, vfs.NewMem()))
	apply(t, st, map[string]string{"t/a": "1", "t/b": "1", "x/1": "old", "x/2": "old", "y": "1"})
	b := st.NewBatch()
	b.DeleteRange([]byte("x/"), PrefixEnd([]byte("x/")))
	b.Put([]byte("x/2"), []byte("new"))
	b.Delete([]byte("t/a"))
	must(t, st.Apply(t.Context(), b))
	if got, want := content(t, st), map[string]string{"t/b": "1", "x/2": "new", "y": "1"}; !maps.Equal(got, want) {
		t.Fatalf("got %v", got)
	}
	if _, found, err := st.Get([]byte("t/a")); found || err != nil {
		t.Fatal(found, err)
	}
	v, found, err := st.Get([]byte("x/2"))
	if string(v) != "new" || !found || err != nil {
		t.Fatal(string(v), found, err)
	}
}

func TestScanSeesItsPrefixOnly(t *testing.T) {
	st := openNew(t, "s", shared(t, vfs.NewMem()))
	apply(t, st, map[string]string{"s\xff": "", "t/": "", "t/a": "", "t/\xff\xff": "", "t0": "", "\xff\xff1": "", "\xff": ""})
	for prefix, want := range map[string][]string{"t/": {"t/", "t/a", "t/\xff\xff"}, "\xff\xff": {"\xff\xff1"}} {
		var got []string
		must(t, st.Scan([]byte(prefix), func(k, _ []byte) error { got = append(got, string(k)); return nil }))
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q", prefix, got)
		}
	}
	stop := errors.New("stop")
	if err := st.Scan([]byte("t/"), func(_, _ []byte) error { return stop }); !errors.Is(err, stop) {
		t.Fatalf("got %v", err)
	}
}

// Whatever is applied, a restored store holds what the snapshot held, and goes on from it.
func TestRestoreEqualsSnapshot(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		sh := newShared(Config{CacheBytes: 1 << 20, OpenFiles: 64}, slog.New(slog.DiscardHandler), vfs.NewMem())
		defer sh.Close()
		objects := storetest.NewMemory()
		model := make(map[string]string)
		var base []checkpoint.File
		st, err := Open("s0", sh)
		must(t, err)
		for n := range checkpoint.SealNumber(rapid.IntRange(1, 6).Draw(rt, "seals")) {
			b := st.NewBatch()
			for range rapid.IntRange(1, 20).Draw(rt, "changes") {
				key := rapid.StringMatching(`t/[a-e]{1,2}`).Draw(rt, "key")
				switch rapid.IntRange(0, 3).Draw(rt, "change") {
				case 0:
					b.Delete([]byte(key))
					delete(model, key)
				case 1:
					end := key + "c"
					b.DeleteRange([]byte(key), []byte(end))
					maps.DeleteFunc(model, func(k, _ string) bool { return k >= key && k < end })
				default:
					value := rapid.String().Draw(rt, "value")
					b.Put([]byte(key), []byte(value))
					model[key] = value
				}
			}
			must(t, st.Apply(context.Background(), b))
			base = seal(t, st, objects, n+1, base).Files
			if rapid.Bool().Draw(rt, "restore") {
				must(t, st.Close())
				st, err = Restore(context.Background(), objects, base, fmt.Sprint("s", n+1), sh)
				must(t, err)
			}
			if got := content(t, st); !maps.Equal(got, model) {
				rt.Fatalf("after seal %d: got %v, want %v", n+1, got, model)
			}
		}
		must(t, st.Close())
	})
}

// What was applied after the snapshot, or lay unsynced when the machine stopped, is gone
// after a restore; what the entry cites is there. The old folder is only a cache.
func TestCrashBetweenApplyAndCheckpoint(t *testing.T) {
	for seed := range uint64(20) {
		mem := vfs.NewCrashableMem()
		objects := storetest.NewMemory()
		st := openNew(t, "s", shared(t, mem))
		apply(t, st, map[string]string{"t/a": "sealed", "t/b": "sealed"})
		entry := seal(t, st, objects, 1, nil).Files
		apply(t, st, map[string]string{"t/a": "not sealed", "t/c": "not sealed"})

		after := mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 50, RNG: rand.New(rand.NewPCG(seed, 0))})
		back, err := Restore(t.Context(), objects, entry, "again", shared(t, after), Folder{Dir: "s"})
		must(t, err)
		if got, want := content(t, back), map[string]string{"t/a": "sealed", "t/b": "sealed"}; !maps.Equal(got, want) {
			t.Fatalf("seed %d: got %v", seed, got)
		}
		must(t, back.Close())
	}
}

func TestOpenRefusesWhatAnEarlierProcessLeft(t *testing.T) {
	sh := shared(t, vfs.NewMem())
	st, err := Open("s", sh)
	must(t, err)
	must(t, st.Close())
	if _, err := Open("s", sh); err == nil {
		t.Fatal("opened")
	}
	if _, err := Restore(t.Context(), storetest.NewMemory(), []checkpoint.File{{Name: "x", Key: "k"}}, "s", sh); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Fatalf("restored over it: %v", err)
	}
}

// A thousand dirty rows of 1 KB in a store of 200,000 cost the upload of about those rows.
func TestIncrementUploadsOnlyWhatIsNew(t *testing.T) {
	objects := storetest.NewMemory()
	st := openNew(t, filepath.Join(t.TempDir(), "s"), shared(t, vfs.Default))
	apply(t, st, rows(0, 20_000, 0))
	full := seal(t, st, objects, 1, nil)
	again := seal(t, st, objects, 2, full.Files)
	if again.NewBytes > 32<<10 {
		t.Errorf("nothing changed and %d bytes in %d files were uploaded", again.NewBytes, again.NewFiles)
	}
	apply(t, st, rows(0, 200, 1))
	small := seal(t, st, objects, 3, again.Files)
	if small.NewBytes > 300<<10 || small.NewFiles > 4 {
		t.Errorf("200 KB changed; %d bytes in %d files were uploaded", small.NewBytes, small.NewFiles)
	}
	if full.NewBytes < 15<<20 {
		t.Errorf("the full upload has only %d bytes: the rows compress and the test says nothing", full.NewBytes)
	}
	for _, f := range small.Files {
		if info, err := objects.Stat(t.Context(), f.Key); err != nil || info.Size != f.Size {
			t.Errorf("%+v: %+v, %v", f, info, err)
		}
	}
	t.Logf("full %d KB, unchanged %d B, 200 rows of 1 KB: %d KB", full.NewBytes>>10, again.NewBytes, small.NewBytes>>10)
}

func TestUnsealedIsWhatASnapshotWouldAdd(t *testing.T) {
	objects := storetest.NewMemory()
	st := openNew(t, t.TempDir(), shared(t, vfs.Default))
	apply(t, st, rows(0, 1000, 1))
	unsealed := func(base []checkpoint.File) int64 {
		n, err := st.Unsealed(base)
		must(t, err)
		return n
	}
	first := seal(t, st, objects, 1, nil)
	if n := unsealed(first.Files); n != 0 {
		t.Errorf("%d bytes are new right after a seal", n)
	}
	apply(t, st, rows(0, 500, 2))
	n := unsealed(first.Files)
	second := seal(t, st, objects, 2, first.Files)
	if n <= 0 || n > second.NewBytes {
		t.Errorf("%d bytes were to be new, %d are", n, second.NewBytes)
	}
	if all := unsealed(nil); all <= n {
		t.Errorf("against nothing %d bytes are new, against a base %d", all, n)
	}
}

// Only the base's files are shared. Another seal's upload, not committed, may be collected.
func TestUploadsOfAnotherSealAreNotCited(t *testing.T) {
	objects := storetest.NewMemory()
	st := openNew(t, "s", shared(t, vfs.NewMem()))
	apply(t, st, map[string]string{"t/a": "1"})
	seal(t, st, objects, 1, nil) // never committed
	for _, f := range seal(t, st, objects, 2, nil).Files {
		if pl, ok := ns.PlaceOf(f.Key); !ok || pl.Seal != 2 {
			t.Errorf("seal 2 cites %s", f.Key)
		}
	}
}

func TestFlippedBitNamesTheFile(t *testing.T) {
	sh := shared(t, vfs.NewMem())
	objects := storetest.NewMemory()
	st := openNew(t, "s", sh)
	apply(t, st, map[string]string{"t/a": strings.Repeat("x", 1000)})
	files := seal(t, st, objects, 1, nil).Files
	for i, f := range files {
		if f.Size == 0 {
			continue
		}
		whole, err := checkpoint.ReadFile(t.Context(), objects, f)
		must(t, err)
		bad := bytes.Clone(whole)
		bad[len(bad)/2] ^= 1
		for what, data := range map[string][]byte{"flipped": bad, "cut": whole[:len(whole)-1]} {
			must(t, objects.Put(t.Context(), f.Key, bytes.NewReader(data)))
			_, err = Restore(t.Context(), objects, files, fmt.Sprint("bad-", what, i), sh)
			var corrupt *checkpoint.CorruptError
			if !errors.As(err, &corrupt) || corrupt.Key != f.Key {
				t.Errorf("%s %s: %v", what, f.Name, err)
			}
		}
		must(t, objects.Put(t.Context(), f.Key, bytes.NewReader(whole)))
	}
	must(t, objects.Delete(t.Context(), files[0].Key))
	if _, err := Restore(t.Context(), objects, files, "missing", sh); !errors.Is(err, checkpoint.ErrNotFound) {
		t.Errorf("a missing file: %v", err)
	}
}

func TestCitedNamesStayInTheFolder(t *testing.T) {
	for _, name := range []string{"", "..", "../x", "/etc/x", ".hidden"} {
		_, err := Restore(t.Context(), storetest.NewMemory(), []checkpoint.File{{Name: name, Key: "ns/k"}}, "d", shared(t, vfs.NewMem()))
		var corrupt *checkpoint.CorruptError
		if !errors.As(err, &corrupt) || corrupt.Key != "ns/k" {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestReusedFilesAreNotFetched(t *testing.T) {
	mem := vfs.NewMem()
	sh := shared(t, mem)
	objects := storetest.NewMemory()
	st := openNew(t, "s", sh)
	apply(t, st, map[string]string{"t/a": "1"})
	files := seal(t, st, objects, 1, nil).Files
	fetched := 0
	counting := &storetest.Faults{Store: objects, Plan: func(op storetest.Op, key string) storetest.Fault {
		for _, f := range files {
			if op == storetest.OpGet && f.Key == key && isTable(f.Name) {
				fetched++
			}
		}
		return storetest.None
	}}
	mirror := NewMirror("standby", sh)
	if _, err := mirror.Follow(t.Context(), counting, files, Folder{Dir: "nothing-here"}, Folder{Dir: "s"}); err != nil {
		t.Fatal(err)
	}
	if fetched != 0 {
		t.Errorf("%d tables fetched though they lie here", fetched)
	}
	back, err := Restore(t.Context(), objects, files, "r", sh, mirror.Folder())
	must(t, err)
	if got := content(t, back); !maps.Equal(got, map[string]string{"t/a": "1"}) {
		t.Errorf("got %v", got)
	}
	must(t, back.Close())
}

// The standby's disk flipped a bit: the object store has the right bytes.
func TestDamagedLocalFilesAreFetchedInstead(t *testing.T) {
	mem := vfs.NewMem()
	sh := shared(t, mem)
	objects := storetest.NewMemory()
	st := openNew(t, "s", sh)
	apply(t, st, map[string]string{"t/a": "1"})
	files := seal(t, st, objects, 1, nil).Files
	must(t, mem.MkdirAll("standby", 0o755))
	for _, f := range files {
		data, err := checkpoint.ReadFile(t.Context(), objects, f)
		must(t, err)
		bad := bytes.Clone(data)
		for i := range bad {
			bad[i] ^= 0x55
		}
		file, err := mem.Create("standby/"+f.Name, vfs.WriteCategoryUnspecified)
		must(t, err)
		_, err = file.Write(bad)
		must(t, errors.Join(err, file.Close()))
	}
	back, err := Restore(t.Context(), objects, files, "r", sh, Folder{Dir: "standby"})
	must(t, err)
	if got := content(t, back); !maps.Equal(got, map[string]string{"t/a": "1"}) {
		t.Errorf("got %v", got)
	}
	must(t, back.Close())
}

// Two lines of one partition use the same file names for other bytes.
func TestBaseFileOfTheSameNameAndSizeButOtherBytesIsNotShared(t *testing.T) {
	objects := storetest.NewMemory()
	st := openNew(t, "s", shared(t, vfs.NewMem()))
	apply(t, st, map[string]string{"t/a": "1"})
	base := seal(t, st, objects, 1, nil).Files
	for i := range base {
		base[i].SHA256 = strings.Repeat("0", 64)
	}
	if up := seal(t, st, objects, 2, base); up.NewFiles != len(up.Files) {
		t.Errorf("%d of %d files were uploaded", up.NewFiles, len(up.Files))
	}
}

func TestNewerFormatSaysUpgrade(t *testing.T) {
	sh := shared(t, vfs.NewMem())
	objects := storetest.NewMemory()
	for format, check := range map[string]func(error) bool{
		"\x02":  func(err error) bool { var e *checkpoint.NewerFormatError; return errors.As(err, &e) && e.Want == 2 },
		"":      func(err error) bool { var e *checkpoint.CorruptError; return errors.As(err, &e) },
		"\x01x": func(err error) bool { var e *checkpoint.CorruptError; return errors.As(err, &e) },
	} {
		st := openNew(t, fmt.Sprintf("s%x", format), sh)
		apply(t, st, map[string]string{string(formatKey): format})
		files := seal(t, st, objects, 1, nil).Files
		if _, err := Restore(t.Context(), objects, files, fmt.Sprintf("r%x", format), sh); !check(err) {
			t.Errorf("format %q: %v", format, err)
		}
	}
}

// A transfer that breaks off is begun again; one that cannot succeed ends the restore.
func TestRestoreSurvivesBrokenTransfers(t *testing.T) {
	sh := shared(t, vfs.NewMem())
	objects := storetest.NewMemory()
	st := openNew(t, "s", sh)
	apply(t, st, map[string]string{"t/a": "1"})
	files := seal(t, st, objects, 1, nil).Files
	failures := map[string]int{}
	faulty := &lockedFaults{Faults: storetest.Faults{Store: objects}, plan: func(key string) storetest.Fault {
		if failures[key]++; failures[key] < attempts {
			return storetest.Lost
		}
		return storetest.None
	}}
	back, err := Restore(t.Context(), faulty.store(), files, "r", sh)
	must(t, err)
	must(t, back.Close())
	always := &storetest.Faults{Store: objects, Plan: func(storetest.Op, string) storetest.Fault { return storetest.Lost }}
	if _, err := Restore(t.Context(), always, files, "r2", sh); !errors.Is(err, storetest.ErrInjected) {
		t.Fatalf("got %v", err)
	}
}

// What an applied batch needs is in tables: no write-ahead log is there to lose it.
func TestSnapshotHoldsLargeAndSmallBatches(t *testing.T) {
	sh := shared(t, vfs.NewMem())
	objects := storetest.NewMemory()
	st := openNew(t, "s", sh)
	for n, size := range []int{10, memTableBytes * 3, 100} {
		want := map[string]string{"t/a": strings.Repeat(fmt.Sprint(n), size)}
		apply(t, st, want)
		back, err := Restore(t.Context(), objects, seal(t, st, objects, checkpoint.SealNumber(n+1), nil).Files, fmt.Sprint("r", n), sh)
		must(t, err)
		if got := content(t, back); !maps.Equal(got, want) {
			t.Errorf("%d bytes: lost", size)
		}
		must(t, back.Close())
	}
}

func rows(from, to int, version uint64) map[string]string {
	m := make(map[string]string, to-from)
	rng := rand.New(rand.NewPCG(uint64(from), version))
	for i := from; i < to; i++ {
		value := make([]byte, 1024)
		for j := range value {
			value[j] = byte(rng.Uint32())
		}
		m[fmt.Sprintf("t/trip-%08x", uint32(i)*2654435761)] = string(value)
	}
	return m
}

// BenchmarkApply is what an owner waits for at a seal: 1,000 dirty trips of 1 KB in a
// store of 20,000, then the snapshot.
func BenchmarkApply(b *testing.B) {
	for _, c := range []struct {
		name string
		fs   vfs.FS
	}{{"unsynced", unsynced{vfs.Default}}, {"synced", vfs.Default}} {
		b.Run(c.name, func(b *testing.B) {
			sh := shared(b, vfs.Default)
			sh.fs = c.fs
			st := openNew(b, filepath.Join(b.TempDir(), "s"), sh)
			apply(b, st, rows(0, 20_000, 0))
			dirty := rows(0, 1000, 1)
			n := 0
			for b.Loop() {
				apply(b, st, dirty)
				snap, err := st.Checkpoint(fmt.Sprint(st.dir, "-", n))
				must(b, err)
				must(b, snap.Remove())
				n++
			}
			b.SetBytes(1000 << 10)
		})
	}
}

// BenchmarkMiss is the look-up of a trip that the store does not know, with level 0 as full
// as it gets.
func BenchmarkMiss(b *testing.B) {
	st := openNew(b, filepath.Join(b.TempDir(), "s"), shared(b, vfs.Default))
	apply(b, st, rows(0, 20_000, 0))
	for n := range uint64(l0Compaction - 2) {
		apply(b, st, rows(0, 1000, n))
	}
	b.ReportMetric(float64(st.db.Metrics().Levels[0].Sublevels), "sublevels")
	for b.Loop() {
		if _, found, err := st.Get([]byte("t/trip-0000zzzz")); found || err != nil {
			b.Fatal(found, err)
		}
	}
}
