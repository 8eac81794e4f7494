// Package sinks says how results leave: the port that destinations stand behind, and
// which outboxes a destination still lacks.
//
// What one cut of one partition publishes is its outbox; its number, Made, is that of the
// manifest that made it. A destination remembers the greatest Made it took of each
// partition and takes what is newer in that order, so that repeating is harmless and
// skipping impossible.
//
// It must never touch the world, and no sink may compute results: on a retry it sends the
// same bytes from the same outbox.
//
// Start reading at sink.go.
package sinks
