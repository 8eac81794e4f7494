// Package host gives the pure packages their life: a partition's owner as a protoactor
// actor, its trips as child actors, and the speaker through which it talks to Kafka.
//
// One goroutine runs an owner and every trip of it: a trip's mailbox does not queue, it
// runs the message at once in the goroutine of whoever posts, and only the owner posts.
// So between two messages of the owner its state is a consistent cut, and a seal needs no
// barrier. Questions from outside address the owner, whose mailbox serves them between
// batches. Nothing else may run a trip, and nothing here may wait for the network in the
// owner's goroutine: uploads, commits and sends run beside it and report back by message.
//
// Start reading at Owner (owner.go), then sealing.go (cuts) and trips.go (actors of trips); speaker.go sends, over
// a line (line.go) for results (publishing.go) and one for alerts (alerting.go). turns.go lets
// few owners of a process cut at a time.
package host
