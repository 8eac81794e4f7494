// Package coordinator drives checkpoints: at every interval it asks all owners to seal,
// waits for those that are in time, and commits one manifest to the chain. That put is
// the commit; publishing follows it.
//
// It decides nothing about contents: what may enter a manifest is package checkpoint's to
// say, against the very manifest that the put succeeds. A partition that is late carries
// its entry forward and its seal waits for the next round. The coordinator is an actor, so
// its rounds come one after another and it is the only writer of its process's chain.
//
// Start reading at Coordinator.round.
package coordinator
