package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"taximeter/checkpoint"
)

// Run is what every Store must pass. open gives an empty store each time it is called.
func Run(t *testing.T, open func(t *testing.T) checkpoint.Store) {
	tests := []struct {
		name string
		test func(t *testing.T, st checkpoint.Store)
	}{
		{"put, get, replace", putGet},
		{"what is absent is ErrNotFound", absent},
		{"put if absent never replaces", putIfAbsent},
		{"put if match replaces only what was seen", putIfMatch},
		{"40 races of 12 committers have one winner each", races},
		{"of racing replacements of one version one wins", matchRaces},
		{"lists are in byte order, by prefix and behind a key", listOrder},
		{"lists go on past one page", listPages},
		{"deleting twice is no error", deleteTwice},
		{"a large object comes back whole", large},
		{"an empty object", empty},
		{"a body is read from its position", bodyPosition},
		{"a cancelled context stops every call", cancelled},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { tt.test(t, open(t)) })
	}
}

func body(s string) io.ReadSeeker { return strings.NewReader(s) }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func put(t *testing.T, st checkpoint.Store, key, content string) {
	t.Helper()
	must(t, st.Put(t.Context(), key, body(content)))
}

func get(t *testing.T, st checkpoint.Store, key string) (content, etag string) {
	t.Helper()
	o, err := st.Get(t.Context(), key)
	must(t, err)
	data, err := io.ReadAll(o.Body)
	must(t, err)
	must(t, o.Body.Close())
	if o.Key != key || o.Size != int64(len(data)) {
		t.Fatalf("got %q of %d bytes, the body of %s has %d", o.Key, o.Size, key, len(data))
	}
	return string(data), o.ETag
}

func list(t *testing.T, st checkpoint.Store, prefix, after string) []string {
	t.Helper()
	var keys []string
	for info, err := range st.List(t.Context(), prefix, after) {
		must(t, err)
		keys = append(keys, info.Key)
	}
	return keys
}

func putGet(t *testing.T, st checkpoint.Store) {
	put(t, st, "ns/a/b", "one")
	put(t, st, "ns/a/b", "two!")
	if got, _ := get(t, st, "ns/a/b"); got != "two!" {
		t.Fatalf("got %q", got)
	}
	info, err := st.Stat(t.Context(), "ns/a/b")
	must(t, err)
	if info != (checkpoint.Info{Key: "ns/a/b", Size: 4}) {
		t.Fatalf("stat says %+v", info)
	}
}

func absent(t *testing.T, st checkpoint.Store) {
	put(t, st, "ns/a/b", "x")
	for _, key := range []string{"ns/none", "ns/a", "ns/a/b/c"} {
		if _, err := st.Get(t.Context(), key); !errors.Is(err, checkpoint.ErrNotFound) || !strings.Contains(err.Error(), key) {
			t.Errorf("get %s: %v", key, err)
		}
		if _, err := st.Stat(t.Context(), key); !errors.Is(err, checkpoint.ErrNotFound) || !strings.Contains(err.Error(), key) {
			t.Errorf("stat %s: %v", key, err)
		}
	}
	if keys := list(t, st, "nothing/", ""); len(keys) != 0 {
		t.Errorf("listed %v", keys)
	}
}

func putIfAbsent(t *testing.T, st checkpoint.Store) {
	w, err := st.PutIfAbsent(t.Context(), "ns/k", body("first"))
	must(t, err)
	if _, etag := get(t, st, "ns/k"); !w.Stored || w.ETag == "" || w.ETag != etag {
		t.Fatalf("first put: %+v, the object's tag is %q", w, etag)
	}
	w, err = st.PutIfAbsent(t.Context(), "ns/k", body("second"))
	must(t, err)
	if got, _ := get(t, st, "ns/k"); w.Stored || got != "first" {
		t.Fatalf("second put: %+v, content %q", w, got)
	}
}

func putIfMatch(t *testing.T, st checkpoint.Store) {
	put(t, st, "ns/k", "v1")
	_, etag := get(t, st, "ns/k")
	w2, err := st.PutIfMatch(t.Context(), "ns/k", etag, body("v2"))
	must(t, err)
	if !w2.Stored || w2.ETag == etag {
		t.Fatalf("replacing v1 (%q): %+v", etag, w2)
	}
	stale, err := st.PutIfMatch(t.Context(), "ns/k", etag, body("v3"))
	must(t, err)
	if got, _ := get(t, st, "ns/k"); stale.Stored || got != "v2" {
		t.Fatalf("stale tag: %+v, content %q", stale, got)
	}
	w4, err := st.PutIfMatch(t.Context(), "ns/k", w2.ETag, body("v4"))
	must(t, err)
	if !w4.Stored {
		t.Fatal("the tag a put returned did not match")
	}
	none, err := st.PutIfMatch(t.Context(), "ns/none", etag, body("x"))
	must(t, err)
	if none.Stored {
		t.Fatal("an absent key matched")
	}
	if _, err := st.PutIfMatch(t.Context(), "ns/k", "", body("x")); err == nil {
		t.Fatal("an empty tag was taken")
	}
}

// race lets n writers go at once and counts who stored.
func race(t *testing.T, n int, write func(i int) (checkpoint.Written, error)) (winners []int) {
	t.Helper()
	var wins atomic.Int32
	won := make([]atomic.Bool, n)
	start := make(chan struct{})
	var done sync.WaitGroup
	for i := range n {
		done.Go(func() {
			<-start
			w, err := write(i)
			if err != nil {
				t.Errorf("writer %d: %v", i, err)
			}
			if w.Stored {
				wins.Add(1)
				won[i].Store(true)
			}
		})
	}
	close(start)
	done.Wait()
	for i := range n {
		if won[i].Load() {
			winners = append(winners, i)
		}
	}
	return winners
}

func races(t *testing.T, st checkpoint.Store) {
	for r := range 40 {
		key := fmt.Sprintf("ns/manifest/%020d", r)
		winners := race(t, 12, func(i int) (checkpoint.Written, error) {
			return st.PutIfAbsent(t.Context(), key, body(fmt.Sprint("writer ", i)))
		})
		if len(winners) != 1 {
			t.Fatalf("race %d: winners %v", r, winners)
		}
		if got, _ := get(t, st, key); got != fmt.Sprint("writer ", winners[0]) {
			t.Fatalf("race %d: %d won and %q lies there", r, winners[0], got)
		}
	}
}

func matchRaces(t *testing.T, st checkpoint.Store) {
	put(t, st, "ns/k", "start")
	for r := range 10 {
		_, etag := get(t, st, "ns/k")
		winners := race(t, 8, func(i int) (checkpoint.Written, error) {
			return st.PutIfMatch(t.Context(), "ns/k", etag, body(fmt.Sprint(r, " writer ", i)))
		})
		if len(winners) != 1 {
			t.Fatalf("race %d: winners %v", r, winners)
		}
	}
}

func listOrder(t *testing.T, st checkpoint.Store) {
	keys := []string{"ns/a", "ns/a-b", "ns/a.b", "ns/a0/x", "ns/a_b/y", "ns/ab-c", "ns/ab/1", "ns/ab/10", "ns/ab/2", "ns/b/c/d", "other/z"}
	for _, k := range slices.Backward(keys) {
		put(t, st, k, k)
	}
	for _, c := range []struct {
		prefix, after string
		want          []string
	}{
		{"", "", keys},
		{"ns/", "", keys[:10]},
		{"ns/a", "", keys[:9]},
		{"ns/ab/", "", keys[6:9]},
		{"ns/ab/1", "", keys[6:8]},
		{"ns/ab/", "ns/ab/10", keys[8:9]},
		{"ns/ab/", "ns/ab/0", keys[6:9]},
		{"ns/ab/", "ns/zz", nil},
		{"ns/", "ns/a0/x", keys[4:10]},
		{"ns/", "ns/ab/10", keys[8:10]},
	} {
		if got := list(t, st, c.prefix, c.after); !slices.Equal(got, c.want) {
			t.Errorf("list(%q, %q) = %v, want %v", c.prefix, c.after, got, c.want)
		}
	}
	for info, err := range st.List(t.Context(), "ns/b/", "") {
		must(t, err)
		if info.Size != int64(len(info.Key)) {
			t.Errorf("listed with size %d: %s", info.Size, info.Key)
		}
	}
}

func listPages(t *testing.T, st checkpoint.Store) {
	const n = 1203 // more than S3's page of 1,000
	var want []string
	var done sync.WaitGroup
	for w := range 8 {
		done.Go(func() {
			for i := w; i < n; i += 8 {
				if err := st.Put(t.Context(), fmt.Sprintf("ns/p/%05d", i), body("x")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	done.Wait()
	for i := range n {
		want = append(want, fmt.Sprintf("ns/p/%05d", i))
	}
	if got := list(t, st, "ns/p/", ""); !slices.Equal(got, want) {
		t.Fatalf("listed %d keys of %d, in order: %t", len(got), n, slices.IsSorted(got))
	}
	for info, err := range st.List(t.Context(), "ns/p/", "ns/p/00100") {
		must(t, err)
		if info.Key != want[101] {
			t.Fatalf("behind 100 comes %s", info.Key)
		}
		break // a caller may stop early
	}
}

func deleteTwice(t *testing.T, st checkpoint.Store) {
	put(t, st, "ns/a/b", "x")
	put(t, st, "ns/a/c", "x")
	must(t, st.Delete(t.Context(), "ns/a/b"))
	must(t, st.Delete(t.Context(), "ns/a/b"))
	must(t, st.Delete(t.Context(), "ns/never/was"))
	if got := list(t, st, "", ""); !slices.Equal(got, []string{"ns/a/c"}) {
		t.Fatalf("left %v", got)
	}
	w, err := st.PutIfAbsent(t.Context(), "ns/a/b", body("again"))
	must(t, err)
	if !w.Stored {
		t.Fatal("a deleted key counts as present")
	}
}

func large(t *testing.T, st checkpoint.Store) {
	data := bytes.Repeat([]byte("0123456789abcde\n"), 24<<20/16)
	for i := 0; i < len(data); i += 4096 {
		data[i] = byte(i >> 12)
	}
	must(t, st.Put(t.Context(), "ns/large", bytes.NewReader(data)))
	if got, _ := get(t, st, "ns/large"); got != string(data) {
		t.Fatal("the content differs")
	}
}

func empty(t *testing.T, st checkpoint.Store) {
	put(t, st, "ns/empty", "")
	if got, _ := get(t, st, "ns/empty"); got != "" {
		t.Fatalf("got %q", got)
	}
}

func bodyPosition(t *testing.T, st checkpoint.Store) {
	b := body("0123456789")
	_, err := b.Seek(4, io.SeekStart)
	must(t, err)
	must(t, st.Put(t.Context(), "ns/part", b))
	if got, _ := get(t, st, "ns/part"); got != "456789" {
		t.Fatalf("got %q", got)
	}
}

func cancelled(t *testing.T, st checkpoint.Store) {
	put(t, st, "ns/k", "x")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	check := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", what, err)
		}
	}
	check("put", st.Put(ctx, "ns/k", body("y")))
	_, err := st.PutIfAbsent(ctx, "ns/new", body("y"))
	check("put if absent", err)
	_, err = st.PutIfMatch(ctx, "ns/k", "tag", body("y"))
	check("put if match", err)
	_, err = st.Get(ctx, "ns/k")
	check("get", err)
	_, err = st.Stat(ctx, "ns/k")
	check("stat", err)
	check("delete", st.Delete(ctx, "ns/k"))
	err = nil
	for _, e := range st.List(ctx, "ns/", "") {
		err = e
	}
	check("list", err)
	if got := list(t, st, "", ""); !slices.Equal(got, []string{"ns/k"}) {
		t.Errorf("left %v", got)
	}
	if got, _ := get(t, st, "ns/k"); got != "x" {
		t.Errorf("content %q", got)
	}
}
