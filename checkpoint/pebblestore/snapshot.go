package pebblestore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"

	"taximeter/checkpoint"
)

// Snapshot is a store as it stood after an Apply: a folder of hard links, which the store
// does not touch any more.
type Snapshot struct {
	st  *Store
	dir string
}

// Checkpoint takes a snapshot into dir, which must not exist and must lie on the same file
// system as the store. It takes milliseconds, whatever the size.
func (st *Store) Checkpoint(dir string) (*Snapshot, error) {
	if err := st.db.Checkpoint(dir); err != nil {
		return nil, fmt.Errorf("snapshot of %s: %w", st.dir, err)
	}
	return &Snapshot{st: st, dir: dir}, nil
}

// Remove deletes the folder; what was uploaded stays.
func (s *Snapshot) Remove() error {
	if err := s.st.shared.fs.RemoveAll(s.dir); err != nil {
		return fmt.Errorf("remove snapshot %s: %w", s.dir, err)
	}
	return nil
}

// transfers run at once per partition: a seal has two or three new files, a restore dozens.
const transfers = 4

// Upload brings the snapshot to the object store and gives the files that a seal must cite:
// those of base that it shares, as base cites them, and its own uploads, named by place.
// base is the entry the seal grows from, nothing else: what another, uncommitted seal has
// uploaded is uploaded again.
func (s *Snapshot) Upload(ctx context.Context, store checkpoint.Store, ns checkpoint.Namespace, place checkpoint.Place, base []checkpoint.File) (Uploaded, error) {
	fail := func(err error) (Uploaded, error) { return Uploaded{}, fmt.Errorf("upload snapshot %s: %w", s.dir, err) }
	names, err := s.st.shared.fs.List(s.dir)
	if err != nil {
		return fail(err)
	}
	slices.Sort(names)
	cited := make(map[string]checkpoint.File, len(base))
	for _, f := range base {
		cited[f.Name] = f
	}
	up := Uploaded{Files: make([]checkpoint.File, len(names))}
	isNew := make([]bool, len(names))
	err = inParallel(ctx, transfers, len(names), func(ctx context.Context, i int) error {
		f, err := s.describe(names[i])
		if err != nil {
			return err
		}
		if b, ok := cited[f.Name]; ok && b.Size == f.Size && b.SHA256 == f.SHA256 {
			up.Files[i] = b
			return nil
		}
		f.Key = ns.Part(place, f.SHA256)
		up.Files[i], isNew[i] = f, true
		return s.put(ctx, store, f)
	})
	if err != nil {
		return fail(err)
	}
	for i, f := range up.Files {
		if isNew[i] {
			up.NewFiles++
			up.NewBytes += f.Size
		}
	}
	return up, nil
}

// Uploaded is what a snapshot consists of in the object store.
type Uploaded struct {
	Files    []checkpoint.File // sorted by name
	NewFiles int               // of them uploaded now
	NewBytes int64
}

// describe hashes a file of the snapshot, tables only once.
func (s *Snapshot) describe(name string) (f checkpoint.File, err error) {
	path := s.st.shared.fs.PathJoin(s.dir, name)
	info, err := s.st.shared.fs.Stat(path)
	if err != nil {
		return f, err
	}
	f = checkpoint.File{Name: name, Size: info.Size()}
	if isTable(name) {
		s.st.mu.Lock()
		f.SHA256 = s.st.hashes[name]
		s.st.mu.Unlock()
	}
	if f.SHA256 == "" {
		if f.SHA256, err = hashFile(s.st.shared.fs, path); err != nil {
			return f, err
		}
	}
	if isTable(name) {
		s.st.mu.Lock()
		s.st.hashes[name] = f.SHA256
		s.st.mu.Unlock()
	}
	return f, nil
}

func (s *Snapshot) put(ctx context.Context, store checkpoint.Store, f checkpoint.File) (err error) {
	file, err := s.st.shared.fs.Open(s.st.shared.fs.PathJoin(s.dir, f.Name))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return store.Put(ctx, f.Key, io.NewSectionReader(file, 0, f.Size))
}

func hashFile(fs vfs.FS, path string) (sum string, err error) {
	file, err := fs.Open(path)
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	_, err = io.Copy(hash, file)
	return hex.EncodeToString(hash.Sum(nil)), errors.Join(err, file.Close())
}

// inParallel calls do for 0 .. n-1, most at once, and ends early on an error.
func inParallel(ctx context.Context, most, n int, do func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(most, n) {
		workers.Go(func() {
			for i := range next {
				if err := do(ctx, i); err != nil {
					cancel(err)
					return
				}
			}
		})
	}
	for i := 0; i < n && ctx.Err() == nil; i++ {
		select {
		case next <- i:
		case <-ctx.Done():
		}
	}
	close(next)
	workers.Wait()
	return context.Cause(ctx)
}
