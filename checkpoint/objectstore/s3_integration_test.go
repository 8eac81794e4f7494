//go:build integration

package objectstore

import (
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"taximeter/checkpoint"
	"taximeter/checkpoint/storetest"
)

var stores atomic.Int64 // names a new prefix per store under test

// serverConfig is the S3 server that the environment names, as .ci/with-servers does.
func serverConfig(t *testing.T) S3Config {
	t.Helper()
	cfg := S3Config{Endpoint: os.Getenv("TAXIMETER_S3_ENDPOINT"), Bucket: os.Getenv("TAXIMETER_S3_BUCKET"), Region: os.Getenv("TAXIMETER_S3_REGION"),
		AccessKey: os.Getenv("AWS_ACCESS_KEY_ID"), SecretKey: os.Getenv("AWS_SECRET_ACCESS_KEY"), PathStyle: true}
	if cfg.Endpoint == "" {
		t.Fatal("set TAXIMETER_S3_ENDPOINT, TAXIMETER_S3_BUCKET and AWS_* keys, e.g. of a versitygw (see DESIGN.md), or run under .ci/with-servers")
	}
	cfg.Prefix = fmt.Sprintf("test-%d-%d/", time.Now().UnixNano(), stores.Add(1))
	return cfg
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
