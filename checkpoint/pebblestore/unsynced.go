package pebblestore

import (
	"github.com/cockroachdb/pebble/v2/vfs"
)

// unsynced leaves out every sync. A seal would wait for half a dozen of them per partition,
// all partitions of a node at once, while alerts wait behind it. Nothing is lost: durable is
// what the object store holds, and Restore verifies what it finds locally.
type unsynced struct{ vfs.FS }

type unsyncedFile struct{ vfs.File }

func (unsyncedFile) Sync() error                { return nil }
func (unsyncedFile) SyncData() error            { return nil }
func (unsyncedFile) SyncTo(int64) (bool, error) { return false, nil }

func wrap(f vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return unsyncedFile{f}, nil
}

func (u unsynced) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return wrap(u.FS.Create(name, c))
}

func (u unsynced) OpenReadWrite(name string, c vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	return wrap(u.FS.OpenReadWrite(name, c, opts...))
}

func (u unsynced) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return wrap(u.FS.ReuseForWrite(from, to, c))
}

func (u unsynced) OpenDir(name string) (vfs.File, error) { return wrap(u.FS.OpenDir(name)) }

func (u unsynced) Unwrap() vfs.FS { return u.FS }
