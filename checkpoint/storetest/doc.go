// Package storetest is for tests: the acceptance suite that every checkpoint.Store passes
// (Run), a store in memory (Memory), and a wrapper that loses, refuses and delays calls as
// a network does (Faults).
//
// It must never be imported by anything but tests. Start reading at suite.go.
package storetest
