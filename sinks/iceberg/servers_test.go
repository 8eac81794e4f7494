//go:build integration

package iceberg

import (
	"flag"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"taximeter/checkpoint"
	"taximeter/internal/serverstest"
	"taximeter/schemas"
	"taximeter/sinks"
)

// With the catalog in PostgreSQL and the files in S3: commits of two committers, compaction,
// expiry, orphans and a restore.
func TestLakeOnServers(t *testing.T) {
	w := newWorld(t)
	w.cfg.Catalog, w.cfg.Database = serverstest.Setting(t, "TAXIMETER_POSTGRES_URL"), fmt.Sprint("lake", time.Now().UnixNano())
	w.cfg.Warehouse = Warehouse{S3: serverstest.S3(t)}
	w.cfg.Warehouse.S3.Prefix = "warehouse"
	a, b := w.open(), w.open()
	const n = 12
	for i := range n {
		commit(t, []*Lake{a, b}[i%2], checkpoint.Number(2+i), w.checkpointOf(i)...)
	}
	w.wantCheckpoints(a, n)
	before, _, _ := files(t, b, &b.bills.shape)
	writeOrphan(t, b)
	if with, _, _ := files(t, b, &b.bills.shape); with != before+1 {
		t.Fatalf("%d files of bills with an orphan, and %d without", with, before)
	}
	for _, u := range w.maintainHard(b) {
		if u.Table == TableBills && u.Orphans == 0 {
			t.Errorf("an orphaned file is still there: %+v", u)
		}
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

var everything = flag.Bool("lake.all", false, "run the whole acceptance suite on the REST catalog; otherwise what CI has time for")

// What holds of a lake in SQLite and a folder holds on a real REST catalog and S3.
func TestLakeOnREST(t *testing.T) {
	t.Setenv(onREST, "1")
	type acceptance struct {
		name string
		test func(*testing.T)
	}
	suite := []acceptance{
		{"rows", TestCommitHoldsEventsBillsWindowsAndVerdicts},
		{"commit conflict", TestOtherCommitterWasFaster},
		{"answer dropped", TestAnswerDroppedAfterTheCatalogCommit},
		{"commit held back over a restore", TestCommitHeldBackOverARestore},
		{"expiry before a restore", TestExpiryAndCompactionBetweenCheckpointAndRestore},
		{"tables refused", TestTablesThatDoNotFitAreRefused},
	}
	if *everything {
		suite = append(suite, []acceptance{
			{"a bill moves", TestBillMovesToAnotherDay},
			{"committer dies", TestCommitterDiesAtEachTable},
			{"commit held back", TestCommitHeldBackAndReleased},
			{"maintenance", TestMaintenanceKeepsRowsAndMergesFiles},
			{"compaction overtaken", TestCompactionOverTakenByACorrection},
			{"restore", TestRestoreFromFourCheckpointsAgo},
			{"new column", TestNewNullableColumnWhileRunning},
			{"records missing", TestRecordThatDoesNotCome},
		}...)
	}
	for _, c := range suite {
		t.Run(c.name, c.test)
	}
}

// A catalog that knows us by OAuth2's client credentials, by a token, or not at all.
func TestRESTCatalogKnowsUs(t *testing.T) {
	t.Setenv(onREST, "1")
	open := func(change func(*Config)) error {
		w := newWorld(t)
		change(&w.cfg)
		l, err := Open(t.Context(), w.cfg, "ns", w.log, slog.New(slog.DiscardHandler))
		if err == nil {
			err = l.Close()
		}
		return err
	}
	if err := open(func(c *Config) { c.Token, c.Credential = "", serverstest.Setting(t, "TAXIMETER_CATALOG_CREDENTIAL") }); err != nil {
		t.Error("by OAuth2:", err)
	}
	for name, change := range map[string]func(*Config){
		"nobody":      func(c *Config) { c.Token = "" },
		"wrong token": func(c *Config) { c.Token = "wrong" },
		"stranger":    func(c *Config) { c.Token, c.Credential = "", "stranger:secret" },
	} {
		if err := open(change); err == nil || !strings.Contains(err.Error(), "set lake.token or lake.credential") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
