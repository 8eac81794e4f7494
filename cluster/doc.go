// Package cluster decides which node should run which partition, in which order partitions
// move there, and when a dead node's partitions may be taken.
//
// Everything here is a proposal: a pure function of what the chain of manifests says and of
// what gossip shows. Nothing here makes a write safe; that is the chain's alone (package
// checkpoint). So two nodes with different views may propose different things and do no
// harm.
//
// The package must never touch the world (no clock, network, goroutine, third party), never
// depend on the order in which members are given, and never move what needs no move.
//
// Start reading at member.go, then place.go, plan.go, takeover.go.
package cluster
