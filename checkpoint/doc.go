// Package checkpoint says what is durable and who may write: the chain of manifests,
// the seals that want to enter it, and the decisions that make the next manifest.
//
// A manifest is created only if its number is absent, so the chain is a total order and
// the one authority over ownership. An owner seals (Seal), a coordinator derives the
// next manifest (NextCheckpoint, Assign, Restore: pure functions of the tip and of their
// arguments) and puts it (Chain.Commit). That put is the commit. What the committed
// entries hold in Pending is then published by their owners, and what nothing cites any
// more is deleted (Collectable).
//
// The package must never touch the world by itself: no clock, no randomness, no file, no
// goroutine, no third party. Time and tokens are arguments; storage is the Store port,
// whose adapters are checkpoint/objectstore. It must never decide from who seems alive
// that somebody may write: views serve progress, the chain serves safety.
//
// Start reading at manifest.go, then next.go, assign.go, chain.go; DESIGN.md holds the
// reasons.
package checkpoint
