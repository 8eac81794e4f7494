package pebblestore

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"taximeter/checkpoint"
)

// Store is the local state of one partition. One goroutine applies; reads may run beside
// it, and so may the upload of a snapshot.
type Store struct {
	dir    string
	shared *Shared
	db     *pebble.DB

	fetched int64 // bytes that Restore had to bring from the object store

	mu sync.Mutex // guards hashes
	// hashes of tables by file name: a table never changes and its name is never used again
	// by this instance, so each is read once for hashing.
	hashes map[string]string
}

// Open makes a new store in dir, which must be absent or empty. What an earlier process
// left there may be half-written: use Restore.
func Open(dir string, shared *Shared) (*Store, error) {
	opts := shared.options()
	opts.ErrorIfExists = true
	return open(dir, shared, opts, func(st *Store) error { return st.db.Set(formatKey, encodeFormat(), pebble.NoSync) })
}

// reopen opens the store that Fetch has just put into dir.
func reopen(dir string, shared *Shared) (*Store, error) {
	opts := shared.options()
	opts.ErrorIfNotExists = true
	return open(dir, shared, opts, func(st *Store) error {
		format, _, err := st.Get(formatKey)
		if err != nil {
			return err
		}
		return checkFormat(dir, format)
	})
}

func open(dir string, shared *Shared, opts *pebble.Options, begin func(*Store) error) (*Store, error) {
	shared.room.dir.Store(&dir)
	db, err := pebble.Open(dir, opts)
	if err != nil {
		return nil, fmt.Errorf("open state in %s: %w", dir, err)
	}
	st := &Store{dir: dir, shared: shared, db: db, hashes: make(map[string]string)}
	if err := begin(st); err != nil {
		return nil, errors.Join(fmt.Errorf("open state in %s: %w", dir, err), db.Close())
	}
	return st, nil
}

// Fetched is how many bytes Restore brought from the object store.
func (st *Store) Fetched() int64 { return st.fetched }

// Unsealed is how many bytes of tables a snapshot of now would hold that base lacks; of a
// compaction that is under way it is not known yet, and all tables count.
func (st *Store) Unsealed(base []checkpoint.File) (n int64, err error) {
	have := make(map[string]bool, len(base))
	for _, f := range base {
		have[f.Name] = true
	}
	levels, err := st.db.SSTables()
	if err != nil {
		return 0, fmt.Errorf("tables of %s: %w", st.dir, err)
	}
	compacting := st.Compacting()
	for _, tables := range levels {
		for _, t := range tables {
			if compacting || !have[fmt.Sprintf("%06d.sst", t.FileNum)] {
				n += int64(t.Size) //nolint:gosec // files are smaller
			}
		}
	}
	return n, nil
}

// Compacting reports whether a compaction is under way: a snapshot of now would not hold what
// it writes.
func (st *Store) Compacting() bool { return st.db.Metrics().Compact.NumInProgress > 0 }

// Close ends the store; the folder stays, for a Restore to reuse.
func (st *Store) Close() error {
	if err := st.db.Close(); err != nil {
		return fmt.Errorf("close state in %s: %w", st.dir, err)
	}
	return nil
}

// Batch is a list of changes, done in their order and all at once. Keys and values are
// copied into it.
type Batch struct {
	b   *pebble.Batch
	err error // the first
}

// NewBatch begins one. Apply uses it up.
func (st *Store) NewBatch() *Batch { return &Batch{b: st.db.NewBatch()} }

// NewBatchOf begins one that will hold about so many keys, and bytes of keys and values: it
// does not grow, which would copy it several times over.
func (st *Store) NewBatchOf(keys, bytes int) *Batch {
	return &Batch{b: st.db.NewBatchWithSize(batchHeader + bytes + keys*rowOverhead)}
}

// Of Pebble's encoding of a batch: before the rows, and at most of each row.
const (
	batchHeader = 12
	rowOverhead = 1 + 2*binary.MaxVarintLen32
)

func (b *Batch) Put(key, value []byte) { b.err = errors.Join(b.err, b.b.Set(key, value, nil)) }
func (b *Batch) Delete(key []byte)     { b.err = errors.Join(b.err, b.b.Delete(key, nil)) }

// DeleteRange deletes the keys of [start, end), at the cost of one record.
func (b *Batch) DeleteRange(start, end []byte) {
	b.err = errors.Join(b.err, b.b.DeleteRange(start, end, nil))
}

// Len is the size of the batch in bytes.
func (b *Batch) Len() int { return b.b.Len() }

// Apply does the changes and flushes them into a table, so that a snapshot holds them. If
// ctx ends first the changes are done but not flushed: the next Apply flushes them too.
func (st *Store) Apply(ctx context.Context, b *Batch) error {
	if b.err != nil {
		return errors.Join(fmt.Errorf("apply to %s: %w", st.dir, b.err), b.b.Close())
	}
	if err := st.db.Apply(b.b, pebble.NoSync); err != nil {
		return fmt.Errorf("apply to %s: %w", st.dir, err)
	}
	if err := b.b.Close(); err != nil {
		return fmt.Errorf("apply to %s: %w", st.dir, err)
	}
	flushed, err := st.db.AsyncFlush()
	if err != nil {
		return fmt.Errorf("flush %s: %w", st.dir, err)
	}
	select {
	case <-flushed:
		return nil
	case <-ctx.Done():
		// A broken disk is retried by Pebble without end, and told in the log; for a full one,
		// see room.
		return fmt.Errorf("flush %s: %w", st.dir, ctx.Err())
	}
}

// Get is a copy of the value at key; found tells whether there is one.
func (st *Store) Get(key []byte) (value []byte, found bool, err error) {
	v, closer, err := st.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("read %q in %s: %w", key, st.dir, err)
	}
	value = bytes.Clone(v)
	if err := closer.Close(); err != nil {
		return nil, false, fmt.Errorf("read %q in %s: %w", key, st.dir, err)
	}
	return value, true, nil
}

// Scan calls visit for every key that begins with prefix, in order, until it errs. Key and
// value are valid only within the call.
func (st *Store) Scan(prefix []byte, visit func(key, value []byte) error) error {
	return st.ScanRange(prefix, PrefixEnd(prefix), visit)
}

// ScanRange is Scan over the keys of [start, end); nil end = to the last.
func (st *Store) ScanRange(start, end []byte, visit func(key, value []byte) error) (err error) {
	it, err := st.db.NewIter(&pebble.IterOptions{LowerBound: start, UpperBound: end})
	if err != nil {
		return fmt.Errorf("scan %q in %s: %w", start, st.dir, err)
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for ok := it.First(); ok; ok = it.Next() {
		value, err := it.ValueAndErr()
		if err != nil {
			return fmt.Errorf("scan %q in %s: %w", start, st.dir, err)
		}
		if err := visit(it.Key(), value); err != nil {
			return err
		}
	}
	if err := it.Error(); err != nil {
		return fmt.Errorf("scan %q in %s: %w", start, st.dir, err)
	}
	return nil
}

// PrefixEnd is the least key after all that begin with prefix; nil if there is none.
func PrefixEnd(prefix []byte) []byte {
	end := bytes.Clone(prefix)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i]++; end[i] != 0 {
			return end[:i+1]
		}
	}
	return nil
}
