package pebblestore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"

	"taximeter/checkpoint"
)

// Restore brings the files of an entry into dir, which must be absent or empty, and opens
// the store. Files that lie in one of the reuse folders (an earlier store, a standby's) are
// linked instead of fetched, if their content is the cited one. An entry without files
// gives a new store.
//
// A file whose bytes are not those cited is a *checkpoint.CorruptError that names it.
func Restore(ctx context.Context, store checkpoint.Store, files []checkpoint.File, dir string, shared *Shared, reuse ...string) (*Store, error) {
	if len(files) == 0 {
		return Open(dir, shared)
	}
	if err := Fetch(ctx, store, files, dir, shared, reuse...); err != nil {
		return nil, err
	}
	st, err := reopen(dir, shared)
	if err != nil {
		return nil, err
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	for _, f := range files {
		if isTable(f.Name) {
			st.hashes[f.Name] = f.SHA256
		}
	}
	return st, nil
}

// Fetch is Restore without opening: how a standby holds the files of an entry ready.
func Fetch(ctx context.Context, store checkpoint.Store, files []checkpoint.File, dir string, shared *Shared, reuse ...string) error {
	fs := shared.fs
	if err := fs.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("restore into %s: %w", dir, err)
	}
	there, err := fs.List(dir)
	if err != nil {
		return fmt.Errorf("restore into %s: %w", dir, err)
	}
	if len(there) > 0 {
		return fmt.Errorf("restore into %s: it is not empty", dir)
	}
	err = inParallel(ctx, len(files), func(ctx context.Context, i int) error {
		f := files[i]
		if f.Name == "" || f.Name != fs.PathBase(f.Name) || f.Name[0] == '.' {
			return &checkpoint.CorruptError{Key: f.Key, Detail: fmt.Sprintf("it is cited under the name %q", f.Name)}
		}
		path := fs.PathJoin(dir, f.Name)
		for _, old := range reuse {
			if linked, err := link(fs, f, fs.PathJoin(old, f.Name), path); linked || err != nil {
				return err
			}
		}
		return fetch(ctx, store, f, fs, path)
	})
	if err != nil {
		return fmt.Errorf("restore into %s: %w", dir, err)
	}
	return nil
}

// link takes a local file over if it is the one cited. Only tables: Pebble writes on in the
// others.
func link(fs vfs.FS, f checkpoint.File, from, to string) (bool, error) {
	if !isTable(f.Name) {
		return false, nil
	}
	info, err := fs.Stat(from)
	if err != nil || info.Size() != f.Size {
		return false, nil //nolint:nilerr // not there, or another file of that name: fetched instead
	}
	if sum, err := hashFile(fs, from); err != nil || sum != f.SHA256 {
		return false, nil //nolint:nilerr // unreadable or other bytes: the object store has the right ones
	}
	if err := vfs.LinkOrCopy(fs, from, to); err != nil {
		return false, err
	}
	return true, nil
}

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
