//go:build integration

package objectstore

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"taximeter/checkpoint"
	"taximeter/checkpoint/storetest"
	"taximeter/internal/serverstest"
)

var stores atomic.Int64 // names a new prefix per store under test

// serverConfig is a new prefix in the bucket of .ci/with-servers.
func serverConfig(t *testing.T) S3Config {
	t.Helper()
	s3 := serverstest.S3(t)
	return S3Config{Endpoint: s3.Endpoint, Bucket: s3.Bucket, Region: s3.Region, AccessKey: s3.AccessKey, SecretKey: s3.SecretKey, PathStyle: s3.PathStyle,
		Prefix: fmt.Sprintf("test-%d-%d/", time.Now().UnixNano(), stores.Add(1))}
}

func TestS3(t *testing.T) {
	storetest.Run(t, func(t *testing.T) checkpoint.Store {
		st, err := NewS3(serverConfig(t))
		if err != nil {
			t.Fatal(err)
		}
		if err := Check(t.Context(), st, "probe/1"); err != nil {
			t.Fatal(err)
		}
		return st
	})
}

func TestS3SaysWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		name string
		mod  func(*S3Config)
		want string
	}{
		{"no such bucket", func(c *S3Config) { c.Bucket = "there-is-no-such-bucket" }, "there-is-no-such-bucket does not exist"},
		{"wrong key", func(c *S3Config) { c.SecretKey = "wrong" }, "check the keys"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := serverConfig(t)
			c.mod(&cfg)
			st, err := NewS3(cfg)
			if err != nil {
				t.Fatal(err)
			}
			if err := Check(t.Context(), st, "probe/1"); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v", err)
			}
		})
	}
}
