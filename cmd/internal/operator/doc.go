// Package operator is what people do to a chain of checkpoints from the command line: look
// into it, verify it, compare two of its manifests, take it back, move offsets.
//
// It reads the store and, to change something, derives a manifest by the rules of package
// checkpoint and commits it. It must never write anything else, and never decide what the
// operator was not asked about. The names of JSON fields are the admin API's.
//
// Start reading at list.go; verify.go is the longest way.
package operator
