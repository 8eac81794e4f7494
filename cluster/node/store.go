package node

import (
	"fmt"

	"taximeter/checkpoint"
	"taximeter/checkpoint/objectstore"
)

// Open gives the store that is configured. It connects to nothing yet.
func (s Store) Open() (checkpoint.Store, error) {
	if s.S3.Bucket == "" {
		return objectstore.NewFolder(s.Folder), nil
	}
	st, err := objectstore.NewS3(objectstore.S3Config{Endpoint: s.S3.Endpoint, Region: s.S3.Region, Bucket: s.S3.Bucket, Prefix: s.S3.Prefix,
		PathStyle: s.S3.PathStyle, AccessKey: s.S3.AccessKey, SecretKey: s.S3.SecretKey, Encryption: s.S3.SSE})
	if err != nil {
		return nil, fmt.Errorf("store.s3: %w", err)
	}
	return st, nil
}
