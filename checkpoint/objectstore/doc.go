// Package objectstore holds the adapters of checkpoint.Store: a local Folder and S3.
//
// It must never decide anything about manifests or seals, nor answer "stored" before the
// write is durable and visible to every reader. It knows keys only as text.
//
// Start reading at folder.go and s3.go; retry.go says which failures are tried again;
// Check tells at the start of a node what a store cannot do.
package objectstore
