// Package simulation runs the meter on event files, without a broker: the same pure code
// as the cluster's (actors/partition and below), one partition per Kafka partition number,
// each record in the partition where Kafka would put it.
//
// The same files give the same results, byte for byte: it must never look at the clock for
// anything but how long the run took, nor let the scheduling of its goroutines reach the
// results. Results appear whole or not at all.
//
// Start reading at Run; read.go parses ahead in a goroutine of its own, results.go writes.
package simulation
