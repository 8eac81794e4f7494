// Package values reads the values of Kafka records by the schemas of the registry, as the
// commands need them.
//
// Start reading at Decode.
package values
