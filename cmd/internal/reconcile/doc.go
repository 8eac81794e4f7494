// Package reconcile compares what must agree: bills with payments, offsets with verdicts,
// the public bills with the state, the lake and the analytical table with both. It does so
// as of one manifest, from public topics and the store, beside running nodes.
//
// It must never write anything, and never take one side's word for a figure that it can
// work out from the other.
//
// Start reading at run.go.
package reconcile
