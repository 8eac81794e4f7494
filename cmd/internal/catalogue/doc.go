// Package catalogue is the tariffs and alert rules on their topics, for commands that read
// or write them. A key's newest record is what is in force; nothing here deletes a key.
//
// It must never judge what it writes: files are checked where they are read (schemas/edge,
// actors/rule).
//
// Start reading at Read; changes.go compares, publish.go sends.
package catalogue
