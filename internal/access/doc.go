// Package access says how Kafka, the schema registry and object storage are reached: addresses,
// TLS, who we are. It is the one place that makes options of these settings, for the node and for the
// command line.
//
// Secrets and certificates may lie in files; they are read for every new connection, so that
// they are rotated by writing them anew. Nothing here connects by itself but Check, and
// nothing puts a secret into an error.
//
// Start reading at kafka.go; explain.go puts refusals in the user's words.
package access
