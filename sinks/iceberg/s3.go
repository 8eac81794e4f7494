package iceberg

import (
	"context"
	"fmt"

	"github.com/apache/iceberg-go/io/gocloud/s3" // and the scheme s3
	"github.com/apache/iceberg-go/utils"

	"taximeter/internal/access"
)

// reaching gives what a context needs with which tables in the warehouse are touched.
//
// The library makes a client for S3 whenever a table is touched, dozens of times a commit. Left
// to itself it also looks for credentials, reads the files of certificates and opens
// connections each time; these settings are all clients' together.
func reaching(ctx context.Context, cfg access.S3) (func(context.Context) context.Context, error) {
	if cfg.Bucket == "" { // a folder, or the catalog decides
		return asItIs, nil
	}
	settings, err := s3.ParseAWSConfig(ctx, fileProperties(cfg))
	if err != nil {
		return nil, fmt.Errorf("lake.warehouse.s3: %w", err)
	}
	return func(ctx context.Context) context.Context { return utils.WithAwsConfig(ctx, settings) }, nil
}

func asItIs(ctx context.Context) context.Context { return ctx }
