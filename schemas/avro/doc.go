// Package avro holds the Avro contracts of the topics, one .avsc file a record, and
// says which topic each is the value of.
//
// It must never parse or judge them: package codec reads and writes values by them, the
// registry decides what may follow them. A contract changes only by adding nullable
// fields with default null.
//
// Start reading at contracts.go.
package avro
