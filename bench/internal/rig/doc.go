// Package rig runs what a bench measures, and what must not be in the measure, each in a
// process of its own: the broker with its registry, the processor (a real node), and a bare
// consumer for comparison. A bench's program is started again under another role, so that
// all of them are the same build.
//
// It must never measure loading or checking: those are the parent's, outside the roles.
//
// Start reading at roles.go, then processor.go and bare.go; process.go is the parent's side.
package rig
