// Package world is everything that taximeter needs around it, in this process: a Kafka
// broker, a schema registry, and feeds that bring events, tariffs and rules in. It is for
// `taximeter dev` and for tests; the node that runs in it is the real one.
//
// Start reading at Start.
package world
