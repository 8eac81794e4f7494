// Package kafkaout publishes to Kafka: bills, windows and dead letters from committed
// outboxes, and alerts ahead of the checkpoint.
//
// Each partition has two transactional ids, one for outboxes and one for alerts. Opening
// one fences and aborts whoever held it before; what was sent is then known only by
// reading it back, from one marker partition per task. The order in which to do so is
// the caller's: open, re-read the chain, read the markers, send.
//
// A transaction begins only where none of its sender is left open: what Kafka forgot to end is
// ended first, as its coordinator had decided.
//
// It must never send on a client that has failed once, take a failed commit for an
// aborted one, end a transaction in another way than was decided, send what no committed outbox or decided alert holds, or read group
// offsets.
//
// Start reading at kafka.go and fenced.go; publisher.go and alerts.go are the two uses, unended.go and asking.go are
// what Kafka forgets.
package kafkaout
