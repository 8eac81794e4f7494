package iceberg

import (
	"errors"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/apache/iceberg-go/io"

	"taximeter/internal/access"
)

// However often a table is touched, the bucket is asked over the same connection.
func TestClientsOfTheWarehouseShareTheirConnections(t *testing.T) {
	var opened, asked atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusNotFound)
	}))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			opened.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	cfg := access.S3{Bucket: "b", Endpoint: server.URL, Region: "r", AccessKey: "a", SecretKey: "s", PathStyle: true}
	reaching, err := reaching(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	const touches = 5
	for range touches {
		files, err := io.LoadFS(reaching(t.Context()), fileProperties(cfg), "s3://b/table")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := files.Open("s3://b/table/file"); !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	if asked.Load() < touches || opened.Load() != 1 {
		t.Errorf("%d requests over %d connections", asked.Load(), opened.Load())
	}
}

// Without keys in the settings the files are asked for with those of the machine.
func TestTheWarehouseIsReachedWithTheMachinesKeys(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "of-the-environment")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "s")
	signed := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		signed <- r.Header.Get("Authorization")
		w.WriteHeader(http.StatusNotFound)
	}))
	defer server.Close()
	cfg := access.S3{Bucket: "b", Endpoint: server.URL, Region: "r", PathStyle: true}
	reaching, err := reaching(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	files, err := io.LoadFS(reaching(t.Context()), fileProperties(cfg), "s3://b/table")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := files.Open("s3://b/table/file"); !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if got := <-signed; !strings.Contains(got, "Credential=of-the-environment/") {
		t.Errorf("signed by %q", got)
	}
}
