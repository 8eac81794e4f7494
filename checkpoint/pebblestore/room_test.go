package pebblestore

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"taximeter/checkpoint/storetest"
)

// smallDisk is a disk that can be full.
type smallDisk struct {
	vfs.FS
	full atomic.Bool
}

type smallFile struct {
	vfs.File
	disk *smallDisk
}

func (d *smallDisk) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if d.full.Load() {
		return nil, syscall.ENOSPC
	}
	f, err := d.FS.Create(name, c)
	return smallFile{f, d}, err
}

func (f smallFile) Write(p []byte) (int, error) {
	if f.disk.full.Load() {
		return 0, syscall.ENOSPC
	}
	return f.File.Write(p)
}

func (d *smallDisk) GetDiskUsage(string) (vfs.DiskUsage, error) {
	if d.full.Load() {
		return vfs.DiskUsage{}, nil
	}
	return vfs.DiskUsage{AvailBytes: roomNeeded}, nil
}

// heard is a log that is read while others write it.
type heard struct {
	mu   sync.Mutex // guards text
	text strings.Builder
}

func (h *heard) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.Write(p)
}

func (h *heard) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.String()
}

// A full disk, to the manifest file included, holds up what is applied for as long as it
// lasts; then everything is there, and what is sealed comes back.
func TestAFullDiskIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := &smallDisk{FS: vfs.NewMem()}
		log := &heard{}
		sh := newShared(Config{CacheBytes: 1 << 20, OpenFiles: 64}, slog.New(slog.NewTextHandler(log, nil)), disk)
		st, err := Open("s", sh)
		must(t, err)
		apply(t, st, map[string]string{"t/a": "1"})

		disk.full.Store(true)
		b := st.NewBatch()
		b.Put([]byte("t/a"), []byte("2"))
		applied := make(chan error, 1)
		go func() { applied <- st.Apply(t.Context(), b) }()
		<-time.After(time.Hour) // virtual
		select {
		case err := <-applied:
			t.Fatalf("applied to a full disk: %v", err)
		default:
		}
		if n := strings.Count(log.String(), "no space left in the data folder"); n != 1 {
			t.Errorf("told %d times:\n%s", n, log)
		}
		if v, _, err := st.Get([]byte("t/a")); err != nil || string(v) != "2" {
			t.Errorf("meanwhile it reads %q, %v", v, err)
		}
		disk.full.Store(false)
		must(t, <-applied)
		objects := storetest.NewMemory()
		entry := seal(t, st, objects, 1, nil).Files
		back, err := Restore(t.Context(), objects, entry, "again", sh)
		must(t, err)
		if got := content(t, back)["t/a"]; got != "2" {
			t.Errorf("comes back as %q", got)
		}
		must(t, back.Close())
		must(t, st.Close())
		sh.Close()
	})
}

// Who ends the process does not wait for a full disk.
func TestAFullDiskDoesNotHoldTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := &smallDisk{FS: vfs.NewMem()}
		sh := newShared(Config{CacheBytes: 1 << 20, OpenFiles: 64}, slog.New(slog.DiscardHandler), disk)
		st, err := Open("s", sh)
		must(t, err)
		disk.full.Store(true)
		b := st.NewBatch()
		b.Put([]byte("t/a"), []byte("2"))
		ctx, cancel := context.WithCancel(t.Context())
		applied := make(chan error, 1)
		go func() { applied <- st.Apply(ctx, b) }()
		synctest.Wait()
		cancel()
		if err := <-applied; err == nil {
			t.Error("applied to a full disk")
		}
		sh.GiveUp()
		closed := make(chan error, 1)
		go func() { closed <- st.Close() }()
		<-time.After(time.Minute) // virtual
		select {
		case err := <-closed: // with or without an error: the state is disposable
			t.Log("closed:", err)
		default:
			t.Error("still waiting for room")
		}
		disk.full.Store(false)
		sh.Close()
	})
}
