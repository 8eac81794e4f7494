package pebblestore

import (
	"context"
	"fmt"
	"maps"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"

	"taximeter/checkpoint"
)

// Mirror is a folder that holds the files of the newest entry of a partition that another
// node runs, so that a Restore here fetches next to nothing. It is never opened as a store.
//
// One goroutine follows; others may read what is there.
type Mirror struct {
	dir    string
	shared *Shared

	mu sync.Mutex // guards verified
	// verified are the files that this process brought here and read: nobody writes them
	// again, so Restore need not. By name.
	verified map[string]checkpoint.File
}

// mirrorTransfers run at once per mirror: half of a restore's, because nobody waits for it.
const mirrorTransfers = transfers / 2

// NewMirror makes one in dir. What lies there of an earlier process is taken over as far as
// its content is what an entry cites.
func NewMirror(dir string, shared *Shared) *Mirror {
	return &Mirror{dir: dir, shared: shared, verified: make(map[string]checkpoint.File)}
}

// Follow brings the folder to these files: only those that are new are fetched, or linked
// from a reuse folder, and those no longer cited are deleted. After an error it goes on
// where it ended. fetched counts the bytes that came from the object store.
func (m *Mirror) Follow(ctx context.Context, store checkpoint.Store, files []checkpoint.File, reuse ...Folder) (fetched int64, err error) {
	fs := m.shared.fs
	if err := fs.MkdirAll(m.dir, 0o755); err != nil {
		return 0, fmt.Errorf("mirror in %s: %w", m.dir, err)
	}
	var mu sync.Mutex // guards fetched
	err = inParallel(ctx, mirrorTransfers, len(files), func(ctx context.Context, i int) error {
		f := files[i]
		if m.holds(f) {
			return nil
		}
		came, err := m.take(ctx, store, f, reuse)
		if err != nil {
			return err
		}
		mu.Lock()
		fetched += came
		mu.Unlock()
		m.mu.Lock()
		m.verified[f.Name] = f
		m.mu.Unlock()
		return nil
	})
	if err == nil {
		err = m.drop(files)
	}
	if err != nil {
		return fetched, fmt.Errorf("mirror in %s: %w", m.dir, err)
	}
	return fetched, nil
}

func (m *Mirror) holds(f checkpoint.File) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	was, ok := m.verified[f.Name]
	return ok && was.Verify(f) == nil
}

// take brings one file, and says how much of it had to be fetched.
func (m *Mirror) take(ctx context.Context, store checkpoint.Store, f checkpoint.File, reuse []Folder) (int64, error) {
	fs := m.shared.fs
	if err := checkName(fs, f); err != nil {
		return 0, err
	}
	path := fs.PathJoin(m.dir, f.Name)
	if isTable(f.Name) && isCited(fs, f, path) {
		return 0, nil // an earlier process left it
	}
	m.mu.Lock()
	delete(m.verified, f.Name)
	m.mu.Unlock()
	// Not written over: it may be linked into a store that lives.
	if err := fs.Remove(path); err != nil && !isNotExist(err) {
		return 0, err
	}
	if taken, err := takeOver(fs, f, path, reuse); taken || err != nil {
		return 0, err
	}
	return f.Size, fetch(ctx, store, f, fs, path)
}

// drop deletes what is not among the files.
func (m *Mirror) drop(files []checkpoint.File) error {
	cited := make(map[string]bool, len(files))
	for _, f := range files {
		cited[f.Name] = true
	}
	names, err := m.shared.fs.List(m.dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if cited[name] {
			continue
		}
		m.mu.Lock()
		delete(m.verified, name)
		m.mu.Unlock()
		if err := m.shared.fs.Remove(m.shared.fs.PathJoin(m.dir, name)); err != nil && !isNotExist(err) {
			return err
		}
	}
	return nil
}

// Folder is what a Restore may take over. The mirror must not follow while it does.
func (m *Mirror) Folder() Folder {
	m.mu.Lock()
	defer m.mu.Unlock()
	return Folder{Dir: m.dir, verified: maps.Clone(m.verified)}
}

// Bytes is what the folder holds.
func (m *Mirror) Bytes() (n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, f := range m.verified {
		n += f.Size
	}
	return n
}

// Folder is a place on the local disk whose files a Restore may take over, if they are the
// ones cited: an earlier store's, whose tables are read to find out, or a mirror's.
type Folder struct {
	Dir      string
	verified map[string]checkpoint.File
}

// takeOver brings a file from the first folder that has it. Tables are linked. Of other
// files Pebble writes on: they are copied, and only what a mirror has is known to be whole.
func takeOver(fs vfs.FS, f checkpoint.File, to string, from []Folder) (bool, error) {
	for _, folder := range from {
		path := fs.PathJoin(folder.Dir, f.Name)
		was, known := folder.verified[f.Name]
		known = known && was.Verify(f) == nil
		switch {
		case isTable(f.Name) && (known || isCited(fs, f, path)):
			return true, vfs.LinkOrCopy(fs, path, to)
		case !isTable(f.Name) && known:
			return true, vfs.Copy(fs, path, to)
		}
	}
	return false, nil
}
