// Package partition is one task: the same partition number of the three input topics,
// with every trip whose key falls there. It gives each consumed record its verdict, moves
// the watermark, routes events to trips, fires their timers, and yields a seal: the
// consistent cut of all that.
//
// It is pure: batches, instants and answers of the outside come in as arguments; effects
// wait in it until the shell takes them. It must never know Kafka, actors or disks; trips
// are run through the Runner port and fetched back through the Store port.
//
// Start reading at Partition.Consume, then clock.go (time), seal.go and cutting.go (the cut).
package partition
