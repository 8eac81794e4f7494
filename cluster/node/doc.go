// Package node configures one taximeter process and wires its parts together: consumer,
// owners, speakers, coordinator, catalogues and admin server.
//
// It is the only package that knows all others. It decides nothing about results.
//
// Start reading at Node.Start, then task.go (one partition's life), config.go.
package node
