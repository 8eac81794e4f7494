// Package admin is the HTTP server for people and monitoring: the state of any trip, of
// every partition and checkpoint, health and metrics.
//
// It only asks, but for POST /drain, and never changes anything else. Errors are RFC 9457 problem documents.
//
// Start reading at Handler.
package admin
