// Package embedded runs a Kafka broker inside the process, for development, demos and
// tests: the same client, topics and transactions as in production, without a cluster.
//
// It must never be offered for production: one node, no replication, and a kill -9
// between the write and the answer can leave a retried batch twice in the log. Nothing
// but cluster/node and tests may import it.
//
// Start reading at broker.go; stamp.go tells how records get the broker's append time.
package embedded
