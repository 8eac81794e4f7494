// Package ingest reads the input topics: it fetches and hands batches to the owners of the
// partitions, never more at once than they have room for, and decodes them in the owners' goroutines.
//
// A task is one partition number of the three input topics. Each topic of it is a lane:
// fetched records wait there, undecoded and in order, until the owner releases one of
// its two batches. Batches merge the lanes by append time. A lane that waits for its owner,
// an operator or a registry that does not answer holds back nothing but itself; one whose
// fetch or first schema is under way holds the partition for two seconds at most.
//
// It must never lose or repeat an offset: every offset between the one a partition was
// added at and Batch.Next is either in a batch or a control or aborted record. It must
// never jump over a gap in the log, commit an offset, or decide who reads what.
//
// Start reading at source.go (one goroutine owns everything), then lane.go, fetcher.go
// (two clients), assignment.go (what each fetches), merge.go (who is next) and decode.go.
// lz4.go decompresses. answers.go knows when brokers last answered. catalogue.go follows the small compacted topics.
package ingest
