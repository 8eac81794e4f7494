package checkpoint

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
)

// ErrNotFound is what Get and Stat of an absent key wrap.
var ErrNotFound = errors.New("object not found")

// Store is an object store with conditional puts. A write is durable and visible to every
// reader when the call returns nil. A call that returns an error may or may not have had,
// or may still have, its effect: whoever needs to know reads.
//
// Bodies are read from their current position to the end, more than once if the adapter
// retries. Keys are slash-separated; no segment is empty or begins with a dot.
type Store interface {
	// Put writes the object, replacing any.
	Put(ctx context.Context, key string, body io.ReadSeeker) error
	// PutIfAbsent writes the object unless the key exists: of any number of racing calls one
	// has Stored set. Not stored may also mean that our own earlier try, whose answer was
	// lost, was: compare what lies there.
	PutIfAbsent(ctx context.Context, key string, body io.ReadSeeker) (Written, error)
	// PutIfMatch replaces the object if its tag is still etag, which may not be "". An absent
	// key never matches. What is said of PutIfAbsent's lost answers holds here too.
	PutIfMatch(ctx context.Context, key, etag string, body io.ReadSeeker) (Written, error)
	// Get opens the object. The caller closes its Body.
	Get(ctx context.Context, key string) (Object, error)
	Stat(ctx context.Context, key string) (Info, error)
	// List yields the keys that begin with prefix and lie after the key after ("" = all), in
	// byte order. An error ends it.
	List(ctx context.Context, prefix, after string) iter.Seq2[Info, error]
	// Delete removes the object; an absent one is no error.
	Delete(ctx context.Context, key string) error
}

// Written is the outcome of a conditional put.
type Written struct {
	Stored bool   // false: the condition did not hold, and nothing was written
	ETag   string // of what was stored
}

// Info is what a store knows of an object without opening it.
type Info struct {
	Key  string
	Size int64 // bytes
}

// Object is an opened object.
type Object struct {
	Info
	// ETag is for PutIfMatch; "" where the store keeps none for so large an object (above
	// 1 MiB: conditional replacement is for small control objects).
	ETag string
	Body io.ReadCloser
}

// maxControl bounds what is read into memory whole (bytes): a manifest of thousands of
// partitions is a few MB, an outbox some tens.
const maxControl = 1 << 30

// ReadAll is the content of the object at key.
func ReadAll(ctx context.Context, st Store, key string) (data []byte, err error) {
	o, err := st.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, o.Body.Close()) }()
	data, err = io.ReadAll(io.LimitReader(o.Body, maxControl+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", key, err)
	}
	if len(data) > maxControl {
		return nil, fmt.Errorf("read %s: larger than %d bytes", key, maxControl)
	}
	return data, nil
}

// FileOf describes data as the object at the key that name makes from its hash.
func FileOf(data []byte, name func(sha256 string) string) File {
	sum := sha256.Sum256(data)
	hash := hex.EncodeToString(sum[:])
	return File{Key: name(hash), Size: int64(len(data)), SHA256: hash}
}

// WriteFile stores data under the key that name makes from its hash and gives the citation.
// It always writes: "exists already" would trust a file that may be being collected.
func WriteFile(ctx context.Context, st Store, data []byte, name func(sha256 string) string) (File, error) {
	f := FileOf(data, name)
	return f, st.Put(ctx, f.Key, bytes.NewReader(data))
}

// ReadFile is the verified content of a cited file; a *CorruptError names it if the bytes
// are not those that were written.
func ReadFile(ctx context.Context, st Store, f File) ([]byte, error) {
	data, err := ReadAll(ctx, st, f.Key)
	if err != nil {
		return nil, err
	}
	return data, f.Verify(FileOf(data, func(string) string { return f.Key }))
}

// Verify compares what was found at the file's key with what was written.
func (f File) Verify(found File) error {
	if found.Size != f.Size {
		return &CorruptError{Key: f.Key, Detail: fmt.Sprintf("it has %d bytes, %d were written", found.Size, f.Size)}
	}
	if found.SHA256 != f.SHA256 {
		return &CorruptError{Key: f.Key, Detail: fmt.Sprintf("its checksum is %.12s.., %.12s.. was written", found.SHA256, f.SHA256)}
	}
	return nil
}
