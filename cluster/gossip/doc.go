// Package gossip says who is reachable: it wraps hashicorp/memberlist into views, values
// that follow each other in a channel of one slot.
//
// A view is an opinion. Nothing here may decide who runs or writes anything, nothing may
// wait inside a callback of memberlist (it holds its lock), and nobody may see a
// memberlist type outside this package.
//
// Start reading at Gossip (gossip.go), then rejoin.go (what memberlist does not do),
// config.go (timings with their reasons), wire.go (what nodes tell of themselves).
package gossip
