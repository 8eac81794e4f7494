// Package pebblestore keeps the state of one partition in a local Pebble store, takes
// snapshots of it, brings them to the object store in increments, and restores them.
//
// The local store is a means, never the truth: it may run ahead of what is committed, it
// is not synced to the disk, and after a crash it is thrown away. The truth is the entry in
// the manifest chain and the files it cites, each with its SHA-256. So nothing may open
// what an earlier process left, except through Restore, which verifies every byte it reuses.
//
// It must never decide what is committed, nor understand a value. Start reading at
// store.go; snapshot.go is the way out, restore.go the way back, keys.go the layout.
package pebblestore
