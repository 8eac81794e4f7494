// Package feed makes Kafka records of the lines of event files, as a producer of the
// contract's topics would have written them, and sends them at the pace of the recording.
//
// It must never repair an event: a record that the meter refuses in a file must be refused
// for the same reason when it comes from Kafka.
//
// Start reading at Encoder; pace.go stands alone.
package feed
