// Package inject makes a node fail on purpose, for the fault harness: the process kills
// itself at a named point of its work, and its checkpoint store loses calls or answers.
//
// Only programs built with the tag "chaos" contain it, and it does nothing unless the
// environment variable says so. It must never decide what a node does, only when it dies
// and what its store answers.
//
// Start reading at Plan.
package inject
