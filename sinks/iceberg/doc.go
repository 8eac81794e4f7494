// Package iceberg is the lake: Apache Iceberg tables of every accepted event, every bill
// and every window, from which people compute for years without touching the topics.
//
// Events are not staged by the partitions' owners. An outbox says of each offset what became
// of it; the committer, on any node, reads those very offsets from Kafka again and writes
// few, large, sorted files. So a lake that is down holds back nothing, and what it needs
// again is what Kafka keeps anyway.
//
// A commit goes table by table, each in one pinned step with the table's own progress, and
// the table of verdicts last: its progress is the lake's. What a crash leaves in between,
// the next committer finds done table by table. Raw rows carry the number of the manifest
// that made them (checkpoint_id), and by it a restore takes them back, whatever compaction
// or expiry did meanwhile.
//
// It must never compute a result, decide a verdict, move an offset, or skip offsets in
// silence; iceberg, arrow and catalog types stay inside.
//
// Start reading at tables.go (what there is), sink.go (a commit), pinned.go (why it is exact),
// then maintain.go.
package iceberg
