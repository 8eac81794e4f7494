// Package published reads what a taximeter has published, as any consumer would:
// read_committed, decoded through the registry, the highest version standing.
//
// Start reading at Read.
package published
