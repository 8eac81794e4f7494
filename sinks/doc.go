// Package sinks says how results leave: the port that destinations stand behind, and
// which outboxes a destination still lacks.
//
// What one cut of one partition publishes is its outbox; its number, Made, is that of the
// manifest that made it. Kafka takes each partition's outboxes from the partition's owner
// (package kafkaout). A table takes those of all partitions at once, from any node: it
// remembers up to which manifest it holds everything, and takes what is newer in one step,
// so that repeating is harmless and skipping impossible. An outbox waits in the chain until
// every sink has it.
//
// Accepted events are not in outboxes: Kafka holds them already. An outbox says of each
// offset what became of it, and a sink that wants the events reads the topics again.
//
// It must never touch the world, and no sink may compute results: on a retry it sends the
// same bytes from the same outbox.
//
// Start reading at sink.go.
package sinks
