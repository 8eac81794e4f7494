// Package grain asks the owner of a partition on another node: one request, one reply, a
// deadline, and an answer that says what happened. Who the owner is, and at which address,
// package cluster and the chain say; what a question means, the handler says.
//
// It is for questions of people and for the control plane. It must never carry events, and
// nothing that is asked may need to be asked exactly once: a question whose connection
// broke may have been answered or not.
//
// It stands on gRPC and not on protoactor's remote, which was measured first: a question to
// a dead address ends as a bare time-out and leaves 16 goroutines behind; so does, for ever
// in silence, an answer above 4 MB; and whoever may speak at all may send any actor of the
// process its PoisonPill. Actors stay local: the handler asks them.
//
// Start reading at Client.Ask (client.go), then server.go (what guards the port), frame.go.
package grain
