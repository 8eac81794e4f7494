package objectstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"

	"taximeter/checkpoint"
)

// S3Config says where the bucket is and how it is spoken to.
type S3Config struct {
	Endpoint string // URL of an S3-compatible server; "" = AWS
	Region   string // "" = us-east-1, which most compatible servers take
	Bucket   string
	Prefix   string // put before every key: "" or "a/b/"

	PathStyle bool // endpoint/bucket/key instead of bucket.endpoint/key; most compatible servers need it

	// Both keys, or none for what the machine has: environment, profile, role.
	AccessKey, SecretKey, SessionToken string

	Encryption string // server-side encryption: "" = the bucket's default, "AES256" or "aws:kms"
	KMSKeyID   string // with "aws:kms"; "" = the account's default key

	// Budget is how long one call may try, waits included. 0 = 20 s. More rides out longer
	// outages; a checkpoint is late by as much.
	Budget time.Duration
}

const (
	defaultRegion = "us-east-1"
	defaultBudget = 20 * time.Second
	// One try may take patience plus the time of its bytes at slowest; then it is dropped and
	// the next begins, because a stuck connection rarely recovers.
	patience = 10 * time.Second
	slowest  = 1 << 20 // bytes per second
	// idlePerHost connections are kept: as many uploads run at once on one node.
	idlePerHost = 64
)

// S3 keeps objects in a bucket. Safe for concurrent use.
type S3 struct {
	cfg    S3Config
	client *s3.Client
}

// NewS3 connects to nothing yet.
func NewS3(cfg S3Config) (*S3, error) {
	switch {
	case cfg.Bucket == "":
		return nil, errors.New("s3: no bucket given")
	case (cfg.AccessKey == "") != (cfg.SecretKey == ""):
		return nil, errors.New("s3: give both access key and secret key, or none for the machine's own (environment, profile, role)")
	case cfg.Prefix != "" && !strings.HasSuffix(cfg.Prefix, "/"):
		return nil, fmt.Errorf("s3: prefix %q must end with a slash", cfg.Prefix)
	case cfg.Encryption != "" && cfg.Encryption != "AES256" && cfg.Encryption != "aws:kms":
		return nil, fmt.Errorf("s3: encryption %q: use AES256 or aws:kms, or leave it out", cfg.Encryption)
	}
	if cfg.Region == "" {
		cfg.Region = defaultRegion
	}
	if cfg.Budget <= 0 {
		cfg.Budget = defaultBudget
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = idlePerHost
	transport.ResponseHeaderTimeout = patience
	opts := s3.Options{
		Region:       cfg.Region,
		UsePathStyle: cfg.PathStyle,
		HTTPClient:   &http.Client{Transport: transport},
		Credentials:  credentials(cfg),
		Retryer:      aws.NopRetryer{}, // retry.go does it, with a budget
		// The body is signed, and every cited file carries its SHA-256: the trailing checksums
		// that compatible servers stumble over add nothing.
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenRequired,
		ResponseChecksumValidation: aws.ResponseChecksumValidationWhenRequired,
	}
	if cfg.Endpoint != "" {
		opts.BaseEndpoint = aws.String(cfg.Endpoint)
	}
	return &S3{cfg: cfg, client: s3.New(opts)}, nil
}

// credentials are the keys given, or else what the machine has, asked again before it expires.
func credentials(cfg S3Config) aws.CredentialsProvider {
	if cfg.AccessKey != "" {
		return aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: cfg.AccessKey, SecretAccessKey: cfg.SecretKey, SessionToken: cfg.SessionToken, Source: "taximeter"}, nil
		})
	}
	return aws.NewCredentialsCache(aws.CredentialsProviderFunc(func(ctx context.Context) (found aws.Credentials, err error) {
		machine, err := config.LoadDefaultConfig(ctx, config.WithRegion(cfg.Region))
		if err == nil {
			found, err = machine.Credentials.Retrieve(ctx)
		}
		if err != nil {
			err = fmt.Errorf("no keys are configured, and the machine has none (environment, profile, role): %w", err)
		}
		return found, err
	}))
}

// fault tells what we were doing, and turns S3's words into ours.
func (s *S3) fault(op, key string, err error) error {
	if err == nil {
		return nil
	}
	var api smithy.APIError
	if errors.As(err, &api) {
		switch api.ErrorCode() {
		case "NoSuchKey", "NotFound": // the second is HEAD's, which has no body to say more
			return fmt.Errorf("%s %s: %w", op, key, checkpoint.ErrNotFound)
		case "NoSuchBucket":
			return fmt.Errorf("%s %s: bucket %s does not exist: create it or mend its name: %w", op, key, s.cfg.Bucket, err)
		case "AccessDenied", "Forbidden", "InvalidAccessKeyId", "SignatureDoesNotMatch":
			return fmt.Errorf("%s %s: bucket %s does not allow it: check the keys, and that they may get, put, list and delete: %w", op, key, s.cfg.Bucket, err)
		}
	}
	return fmt.Errorf("%s %s in bucket %s: %w", op, key, s.cfg.Bucket, err)
}

// condition is what a put demands of the object that lies there.
type condition struct{ ifNoneMatch, ifMatch *string }

func (s *S3) put(ctx context.Context, key string, body io.ReadSeeker, cond condition) (etag string, err error) {
	start, err := body.Seek(0, io.SeekCurrent)
	if err != nil {
		return "", err
	}
	end, err := body.Seek(0, io.SeekEnd)
	if err != nil {
		return "", err
	}
	in := &s3.PutObjectInput{Bucket: &s.cfg.Bucket, Key: aws.String(s.cfg.Prefix + key), Body: body, ContentLength: aws.Int64(end - start),
		IfNoneMatch: cond.ifNoneMatch, IfMatch: cond.ifMatch, ServerSideEncryption: types.ServerSideEncryption(s.cfg.Encryption)}
	if s.cfg.KMSKeyID != "" {
		in.SSEKMSKeyId = &s.cfg.KMSKeyID
	}
	err = s.try(ctx, patience+time.Duration((end-start)/slowest)*time.Second, func(ctx context.Context) error {
		if _, err := body.Seek(start, io.SeekStart); err != nil {
			return err
		}
		out, err := s.client.PutObject(ctx, in)
		if err == nil {
			etag = aws.ToString(out.ETag)
		}
		return err
	})
	return etag, err
}

func (s *S3) Put(ctx context.Context, key string, body io.ReadSeeker) error {
	_, err := s.put(ctx, key, body, condition{})
	return s.fault("put", key, err)
}

func (s *S3) PutIfAbsent(ctx context.Context, key string, body io.ReadSeeker) (checkpoint.Written, error) {
	etag, err := s.put(ctx, key, body, condition{ifNoneMatch: aws.String("*")})
	if status(err) == http.StatusPreconditionFailed {
		return checkpoint.Written{}, nil
	}
	if err != nil {
		return checkpoint.Written{}, s.fault("put", key, err)
	}
	return checkpoint.Written{Stored: true, ETag: etag}, nil
}

func (s *S3) PutIfMatch(ctx context.Context, key, etag string, body io.ReadSeeker) (checkpoint.Written, error) {
	if etag == "" {
		return checkpoint.Written{}, fmt.Errorf("put %s if match: no tag given", key)
	}
	tag, err := s.put(ctx, key, body, condition{ifMatch: &etag})
	switch err := s.fault("put", key, err); {
	case status(err) == http.StatusPreconditionFailed || errors.Is(err, checkpoint.ErrNotFound): // another version, or none
		return checkpoint.Written{}, nil
	case err != nil:
		return checkpoint.Written{}, err
	}
	return checkpoint.Written{Stored: true, ETag: tag}, nil
}

// Get retries the opening; a body that breaks off while it is read is the caller's to retry.
func (s *S3) Get(ctx context.Context, key string) (o checkpoint.Object, err error) {
	err = s.try(ctx, 0, func(ctx context.Context) error {
		out, err := s.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &s.cfg.Bucket, Key: aws.String(s.cfg.Prefix + key)})
		if err == nil {
			o = checkpoint.Object{Info: checkpoint.Info{Key: key, Size: aws.ToInt64(out.ContentLength)}, ETag: aws.ToString(out.ETag), Body: out.Body}
		}
		return err
	})
	return o, s.fault("get", key, err)
}

func (s *S3) Stat(ctx context.Context, key string) (info checkpoint.Info, err error) {
	err = s.try(ctx, patience, func(ctx context.Context) error {
		out, err := s.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &s.cfg.Bucket, Key: aws.String(s.cfg.Prefix + key)})
		if err == nil {
			info = checkpoint.Info{Key: key, Size: aws.ToInt64(out.ContentLength)}
		}
		return err
	})
	return info, s.fault("stat", key, err)
}

func (s *S3) Delete(ctx context.Context, key string) error {
	err := s.try(ctx, patience, func(ctx context.Context) error {
		_, err := s.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &s.cfg.Bucket, Key: aws.String(s.cfg.Prefix + key)})
		return err
	})
	if err = s.fault("delete", key, err); errors.Is(err, checkpoint.ErrNotFound) {
		return nil
	}
	return err
}

func (s *S3) List(ctx context.Context, prefix, after string) iter.Seq2[checkpoint.Info, error] {
	return func(yield func(checkpoint.Info, error) bool) {
		in := &s3.ListObjectsV2Input{Bucket: &s.cfg.Bucket, Prefix: aws.String(s.cfg.Prefix + prefix)}
		if after != "" {
			in.StartAfter = aws.String(s.cfg.Prefix + after)
		}
		for {
			var out *s3.ListObjectsV2Output
			err := s.try(ctx, patience, func(ctx context.Context) (err error) {
				out, err = s.client.ListObjectsV2(ctx, in)
				return err
			})
			if err != nil {
				yield(checkpoint.Info{}, s.fault("list", prefix, err))
				return
			}
			for _, o := range out.Contents {
				if !yield(checkpoint.Info{Key: strings.TrimPrefix(aws.ToString(o.Key), s.cfg.Prefix), Size: aws.ToInt64(o.Size)}, nil) {
					return
				}
			}
			if !aws.ToBool(out.IsTruncated) {
				return
			}
			in.ContinuationToken = out.NextContinuationToken
		}
	}
}
