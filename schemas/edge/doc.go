// Package edge reads and writes the project's words at the border that people touch:
// event files as JSON lines (plain or gzip), and the JSON arrays of tariffs and rules.
//
// Two kinds of fault are kept apart. A line that is not an event envelope at all (bad
// JSON, no known topic, neither value nor raw) is an error that names file, line and
// mend, and ends the run: the file is wrong. A well-formed envelope whose value is not a
// valid record is data: the Line carries the dead-letter verdict, as the same bytes
// would have got from Kafka, and reading goes on. Verdicts that need more than the record
// itself (empty ids, implausible instants and positions) are schemas.CheckEvent's.
//
// It must never repair: no default for a missing amount, no rounding of a decimal, no
// number for a trip id. It keeps no state beyond the file being read, knows no Kafka and
// no Avro, and never looks at the clock.
//
// Tokens come from github.com/go-json-experiment/json, the mirror of Go 1.27's
// encoding/json/v2: strict about UTF-8 and syntax, exact about numbers (it hands out
// their text), without dependencies, and an alias of the standard library once the
// toolchain is 1.27. Gzip is klauspost's, already in the tree for Kafka's codecs.
//
// Start reading at line.go, then reader.go and records.go; catalogue.go stands alone.
package edge
