package objectstore

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"taximeter/checkpoint"
)

// Folder keeps objects as files below a root. Any number of processes of one machine may
// share it; hard links and flock must work there, so most network file systems will not do.
//
// A file is complete from the moment it has its name: it is written under another one,
// synced, and then linked (if absent) or renamed. ETags are SHA-256 of the content.
type Folder struct {
	root string
}

// Names in the root that are no objects; keys cannot begin with a dot.
const (
	tempDir  = ".tmp"
	lockFile = ".lock"
)

// maxTagged bounds the objects whose ETag Get computes (bytes).
const maxTagged = 1 << 20

// NewFolder touches nothing yet; the root is made by the first write.
func NewFolder(root string) *Folder { return &Folder{root: root} }

func (f *Folder) path(key string) (string, error) {
	for s := range strings.SplitSeq(key, "/") {
		if s == "" || s[0] == '.' || strings.ContainsAny(s, "\\\x00") {
			return "", fmt.Errorf("key %q: a part of it is empty, begins with a dot or holds a backslash", key)
		}
	}
	return filepath.Join(f.root, filepath.FromSlash(key)), nil
}

// fault tells what we were doing, and turns the system's words for "not there" into ours.
func (f *Folder) fault(op, key string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) && op != "put":
		return fmt.Errorf("%s %s: %w", op, key, checkpoint.ErrNotFound)
	case errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("%s %s: folder %s must be a folder that the user running taximeter may write: %w", op, key, f.root, err)
	case errors.Is(err, syscall.ENOSPC):
		return fmt.Errorf("%s %s: the disk of folder %s is full: %w", op, key, f.root, err)
	}
	return fmt.Errorf("%s %s: %w", op, key, err)
}

// temp writes the body to a synced file without a name of its own yet. Whoever gets the
// path removes it.
func (f *Folder) temp(body io.Reader, also ...io.Writer) (path string, err error) {
	dir := filepath.Join(f.root, tempDir)
	if err := makeDir(dir); err != nil {
		return "", err
	}
	file, err := os.CreateTemp(dir, "put-")
	if err != nil {
		return "", err
	}
	_, err = io.Copy(io.MultiWriter(append(also, file)...), body)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return "", errors.Join(err, os.Remove(file.Name()))
	}
	return file.Name(), nil
}

// makeDir makes a folder and its missing parents so that they survive a crash.
func makeDir(dir string) error {
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return nil
	}
	parent := filepath.Dir(dir)
	if parent != dir {
		if err := makeDir(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncDir(parent)
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// locked runs do while no other replacement or deletion in this root runs, in any process.
// The lock is held for a rename and the reading of a small file, so it is waited for.
func (f *Folder) locked(do func() error) (err error) {
	lock, err := os.OpenFile(filepath.Join(f.root, lockFile), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }() // closing unlocks
	for {
		err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX)
		if err != syscall.EINTR {
			break
		}
	}
	if err != nil {
		return err
	}
	return do()
}

// publish gives the temporary file its name by way of name, and makes that durable.
func (f *Folder) publish(ctx context.Context, key string, body io.Reader, name func(temp, path string) (bool, error), also ...io.Writer) (stored bool, err error) {
	path, err := f.path(key)
	if err != nil {
		return false, err
	}
	if err := ctx.Err(); err != nil {
		return false, err
	}
	temp, err := f.temp(body, also...)
	if err != nil {
		return false, err
	}
	defer func() {
		if e := os.Remove(temp); e != nil && !errors.Is(e, fs.ErrNotExist) { // a rename took it
			err = errors.Join(err, e)
		}
	}()
	if err := makeDir(filepath.Dir(path)); err != nil {
		return false, err
	}
	if err := ctx.Err(); err != nil {
		return false, err
	}
	stored, err = name(temp, path)
	if err != nil {
		return stored, err
	}
	// Also when another was faster: what we report as existing must not vanish in a crash.
	return stored, syncDir(filepath.Dir(path))
}

func (f *Folder) Put(ctx context.Context, key string, body io.ReadSeeker) error {
	_, err := f.publish(ctx, key, body, func(temp, path string) (bool, error) {
		return true, f.locked(func() error { return os.Rename(temp, path) })
	})
	return f.fault("put", key, err)
}

func (f *Folder) PutIfAbsent(ctx context.Context, key string, body io.ReadSeeker) (checkpoint.Written, error) {
	hash := sha256.New()
	stored, err := f.publish(ctx, key, body, func(temp, path string) (bool, error) {
		err := os.Link(temp, path) // atomic, and fails if the name is taken
		if errors.Is(err, fs.ErrExist) {
			return false, nil
		}
		return err == nil, err
	}, hash)
	if err != nil || !stored {
		return checkpoint.Written{}, f.fault("put", key, err)
	}
	return checkpoint.Written{Stored: true, ETag: hex.EncodeToString(hash.Sum(nil))}, nil
}

func (f *Folder) PutIfMatch(ctx context.Context, key, etag string, body io.ReadSeeker) (checkpoint.Written, error) {
	if etag == "" {
		return checkpoint.Written{}, fmt.Errorf("put %s if match: no tag given", key)
	}
	hash := sha256.New()
	stored, err := f.publish(ctx, key, body, func(temp, path string) (stored bool, err error) {
		err = f.locked(func() error {
			have, err := fileTag(path)
			if errors.Is(err, fs.ErrNotExist) || err == nil && have != etag {
				return nil
			}
			if err != nil {
				return err
			}
			stored = true
			return os.Rename(temp, path)
		})
		return stored && err == nil, err
	}, hash)
	if err != nil || !stored {
		return checkpoint.Written{}, f.fault("put", key, err)
	}
	return checkpoint.Written{Stored: true, ETag: hex.EncodeToString(hash.Sum(nil))}, nil
}

func fileTag(path string) (tag string, err error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	_, err = io.Copy(hash, file)
	return hex.EncodeToString(hash.Sum(nil)), errors.Join(err, file.Close())
}

func (f *Folder) Get(ctx context.Context, key string) (checkpoint.Object, error) {
	o, err := f.get(ctx, key)
	return o, f.fault("get", key, err)
}

func (f *Folder) get(ctx context.Context, key string) (checkpoint.Object, error) {
	path, err := f.path(key)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return checkpoint.Object{}, err
	}
	file, err := os.Open(path)
	if err != nil {
		return checkpoint.Object{}, err
	}
	info, err := file.Stat()
	if err == nil && info.IsDir() {
		err = fs.ErrNotExist
	}
	if err != nil {
		return checkpoint.Object{}, errors.Join(err, file.Close())
	}
	o := checkpoint.Object{Info: checkpoint.Info{Key: key, Size: info.Size()}, Body: file}
	if o.Size > maxTagged {
		return o, nil
	}
	data, err := io.ReadAll(file)
	if err = errors.Join(err, file.Close()); err != nil {
		return checkpoint.Object{}, err
	}
	sum := sha256.Sum256(data)
	o.ETag, o.Body = hex.EncodeToString(sum[:]), io.NopCloser(bytes.NewReader(data))
	return o, nil
}

func (f *Folder) Stat(ctx context.Context, key string) (checkpoint.Info, error) {
	path, err := f.path(key)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return checkpoint.Info{}, f.fault("stat", key, err)
	}
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		err = fs.ErrNotExist
	}
	if err != nil {
		return checkpoint.Info{}, f.fault("stat", key, err)
	}
	return checkpoint.Info{Key: key, Size: info.Size()}, nil
}

func (f *Folder) Delete(ctx context.Context, key string) error {
	path, err := f.path(key)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return f.fault("delete", key, err)
	}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	err = f.locked(func() error { return os.Remove(path) })
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return f.fault("delete", key, err)
}

// List reads the folders that can hold such keys and sorts them: the order of keys is not
// that of a walk ("a-b" lies before "a/b"). It costs as much as the folders are full.
func (f *Folder) List(ctx context.Context, prefix, after string) iter.Seq2[checkpoint.Info, error] {
	return func(yield func(checkpoint.Info, error) bool) {
		keys, err := f.keys(ctx, prefix, after)
		if err != nil {
			yield(checkpoint.Info{}, f.fault("list", prefix, err))
			return
		}
		for _, key := range keys {
			info, err := f.Stat(ctx, key)
			if errors.Is(err, checkpoint.ErrNotFound) {
				continue // deleted since
			}
			if !yield(info, err) || err != nil {
				return
			}
		}
	}
}

func (f *Folder) keys(ctx context.Context, prefix, after string) ([]string, error) {
	var keys []string
	start := prefix[:strings.LastIndexByte(prefix, '/')+1] // the deepest folder that holds all of them
	var walk func(folder string) error
	walk = func(folder string) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		entries, err := os.ReadDir(filepath.Join(f.root, filepath.FromSlash(folder)))
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) && folder != "" {
			return nil
		}
		if err != nil {
			return err
		}
		for _, e := range entries {
			key := folder + e.Name()
			switch {
			case e.Name()[0] == '.':
			case e.IsDir():
				inside := key + "/"
				// Keys below lie between "key/" and "key0": '0' follows '/'.
				if after < key+"0" && (strings.HasPrefix(inside, prefix) || strings.HasPrefix(prefix, inside)) {
					if err := walk(inside); err != nil {
						return err
					}
				}
			case key > after && strings.HasPrefix(key, prefix):
				keys = append(keys, key)
			}
		}
		return nil
	}
	err := walk(start)
	slices.Sort(keys)
	return keys, err
}
