//go:build !chaos

package main

import "taximeter/cluster/node"

// inject is for the fault harness, which builds with the tag chaos.
func inject(*node.Options, node.Config) error { return nil }
