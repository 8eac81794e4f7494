//go:build integration

package iceberg

import (
	"fmt"
	"os"
	"testing"
	"time"

	"taximeter/checkpoint"
	"taximeter/schemas"
	"taximeter/sinks"
)

// With the catalog in PostgreSQL and the files in S3: commits of two committers, compaction,
// expiry, orphans and a restore.
func TestLakeOnServers(t *testing.T) {
	postgres, s3 := os.Getenv("TAXIMETER_POSTGRES_URL"), os.Getenv("TAXIMETER_S3_ENDPOINT")
	if postgres == "" || s3 == "" {
		t.Fatal("no servers: run this with .ci/with-servers")
	}
	w := newWorld(t)
	w.cfg.Catalog, w.cfg.Database = postgres, fmt.Sprint("lake", time.Now().UnixNano())
	w.cfg.Warehouse = Warehouse{S3: S3{Bucket: os.Getenv("TAXIMETER_S3_BUCKET"), Prefix: "warehouse", Endpoint: s3, Region: os.Getenv("TAXIMETER_S3_REGION"),
		PathStyle: true, AccessKey: os.Getenv("AWS_ACCESS_KEY_ID"), SecretKey: os.Getenv("AWS_SECRET_ACCESS_KEY")}}
	a, b := w.open(), w.open()
	const n = 12
	for i := range n {
		commit(t, []*Lake{a, b}[i%2], checkpoint.Number(2+i), w.checkpointOf(i)...)
	}
	w.wantCheckpoints(a, n)
	orphan := writeOrphan(t, b)
	for _, u := range w.maintainHard(b) {
		t.Logf("%+v", u)
	}
	if exists(t, b, orphan) {
		t.Error("an orphaned file is still there")
	}
	w.wantCheckpoints(a, n)
	if err := a.Rewind(t.Context(), sinks.Progress{Made: 1 + n}, checkpoint.Span{After: 1 + n - 4, Through: 1 + n}); err != nil {
		t.Fatal(err)
	}
	wantEachOnce(t, b, 40*(n-4))
	for p := range schemas.Partition(2) {
		w.next[lane{schemas.Telemetry, p}] = 20 * (n - 4)
	}
	again := schemas.VerdictRun{Verdict: schemas.Counted, Length: 80}
	commit(t, b, 20, item(0, 20, w.told(lane{schemas.Telemetry, 0}, again)), item(1, 20, w.told(lane{schemas.Telemetry, 1}, again)))
	w.wantCheckpoints(a, n)
}

func writeOrphan(t *testing.T, l *Lake) string {
	tbl, err := l.load(t.Context(), &l.bills.shape)
	if err != nil {
		t.Fatal(err)
	}
	fs, err := tbl.FS(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	path := tbl.Location() + "/data/left-by-a-crash.parquet"
	if err := fs.(interface {
		WriteFile(name string, content []byte) error
	}).WriteFile(path, []byte("x")); err != nil {
		t.Fatal(err)
	}
	return path
}

func exists(t *testing.T, l *Lake, path string) bool {
	tbl, err := l.load(t.Context(), &l.bills.shape)
	if err != nil {
		t.Fatal(err)
	}
	fs, err := tbl.FS(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	f, err := fs.Open(path)
	if err != nil {
		return false
	}
	return f.Close() == nil
}
