// Package registry is both ends of the Confluent schema registry's REST protocol: the
// Client with which taximeter finds the schema behind an id, and the Server, the registry
// that taximeter carries embedded for those who run none.
//
// The client must never confuse "no such id" with "nobody answered": the first condemns
// a record to the dead-letter topic, the second makes its partition wait. Only the
// registry's own error code says ErrNotFound; a bare 404 of a proxy does not.
//
// The server keeps all its state on the compacted topic schemas.TopicSchemas, in
// Confluent's record format, and nothing anywhere else; each server replays it at start
// and follows it. What a server answers about itself is true of the log: a "no such id"
// is said only after reading to the log's end, a registration only after reading it back.
//
// Several servers may share a topic. They write under one transactional id, so a server
// that is about to write fences the others, then reads to the end, then decides the
// number: ids and versions cannot clash, not even in the view that compaction leaves (two
// records of one key, "the first wins", would lose the first). The fenced server begins
// anew. Writers that do not take part in this, such as a Confluent registry on the same
// topic at the same time, are not supported; its log, taken over, is.
//
// It does not do: compatibility rules (the only level it enforces, admits and reports is
// NONE), references, Protobuf, JSON schema, deletion, contexts. Each is refused in words.
// It does no authentication; whoever serves it wraps it.
//
// Start reading at client.go; for the server at server.go, then state.go and writer.go.
package registry
