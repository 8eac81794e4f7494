package pebblestore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"

	"taximeter/checkpoint"
)

// Restore brings the files of an entry into dir, which must be absent or empty, and opens
// the store. Files that lie in one of the reuse folders are taken over instead of fetched.
// An entry without files gives a new store.
//
// A file whose bytes are not those cited is a *checkpoint.CorruptError that names it.
func Restore(ctx context.Context, store checkpoint.Store, files []checkpoint.File, dir string, shared *Shared, reuse ...Folder) (*Store, error) {
	if len(files) == 0 {
		return Open(dir, shared)
	}
	fetched, err := fill(ctx, store, files, dir, shared.fs, reuse)
	if err != nil {
		return nil, fmt.Errorf("restore into %s: %w", dir, err)
	}
	st, err := reopen(dir, shared)
	if err != nil {
		return nil, err
	}
	st.fetched = fetched
	st.mu.Lock()
	defer st.mu.Unlock()
	for _, f := range files {
		if isTable(f.Name) {
			st.hashes[f.Name] = f.SHA256
		}
	}
	return st, nil
}

func fill(ctx context.Context, store checkpoint.Store, files []checkpoint.File, dir string, fs vfs.FS, reuse []Folder) (fetched int64, err error) {
	if err := fs.MkdirAll(dir, 0o755); err != nil {
		return 0, err
	}
	there, err := fs.List(dir)
	if err != nil {
		return 0, err
	}
	if len(there) > 0 {
		return 0, errors.New("it is not empty")
	}
	var bytes atomic.Int64
	err = inParallel(ctx, transfers, len(files), func(ctx context.Context, i int) error {
		f := files[i]
		if err := checkName(fs, f); err != nil {
			return err
		}
		path := fs.PathJoin(dir, f.Name)
		if taken, err := takeOver(fs, f, path, reuse); taken || err != nil {
			return err
		}
		bytes.Add(f.Size)
		return fetch(ctx, store, f, fs, path)
	})
	return bytes.Load(), err
}

// checkName refuses a name that would lead out of the folder.
func checkName(fs vfs.FS, f checkpoint.File) error {
	if f.Name == "" || f.Name != fs.PathBase(f.Name) || f.Name[0] == '.' {
		return &checkpoint.CorruptError{Key: f.Key, Detail: fmt.Sprintf("it is cited under the name %q", f.Name)}
	}
	return nil
}

// isCited reports whether the file at path is the one cited. One that cannot be read, or
// holds other bytes, is not: the object store has the right ones.
func isCited(fs vfs.FS, f checkpoint.File, path string) bool {
	info, err := fs.Stat(path)
	if err != nil || info.Size() != f.Size {
		return false
	}
	sum, err := hashFile(fs, path)
	return err == nil && sum == f.SHA256
}

func isNotExist(err error) bool { return errors.Is(err, os.ErrNotExist) }

// attempts to read one object whose body breaks off: opening it is retried by the adapter.
const attempts = 4

func fetch(ctx context.Context, store checkpoint.Store, f checkpoint.File, fs vfs.FS, path string) error {
	for n := 1; ; n++ {
		err := fetchOnce(ctx, store, f, fs, path)
		var corrupt *checkpoint.CorruptError
		if err == nil || n == attempts || ctx.Err() != nil || errors.As(err, &corrupt) || errors.Is(err, checkpoint.ErrNotFound) {
			return err
		}
	}
}

func fetchOnce(ctx context.Context, store checkpoint.Store, f checkpoint.File, fs vfs.FS, path string) (err error) {
	o, err := store.Get(ctx, f.Key)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.Body.Close()) }()
	file, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	hash := sha256.New()
	// Not straight from the body, which may hand out its own memory: a vfs.File may write into
	// what it is given.
	n, err := io.Copy(io.MultiWriter(hash, file), struct{ io.Reader }{o.Body})
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("fetch %s: %w", f.Key, err)
	}
	return f.Verify(checkpoint.File{Size: n, SHA256: hex.EncodeToString(hash.Sum(nil))})
}

func isTable(name string) bool { return strings.HasSuffix(name, ".sst") }
