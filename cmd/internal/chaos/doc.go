// Package chaos is the fault harness: it runs real taximeter processes against a real
// broker and store, lets them die and lose connections in every way it can, and compares
// all that came out with what simulate says of the same events.
//
// A run follows a scenario drawn from its seed: some lives of a node, each with its faults
// and its end, then a last one without faults that finishes the work. What a crash hits
// also depends on timing, so a seed repeats the plan, not the microsecond.
//
// It must never forgive: a run that cannot be checked has failed.
//
// Start reading at Run, then scenario.go (what is drawn), life.go (one process), check.go.
package chaos
