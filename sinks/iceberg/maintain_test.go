package iceberg

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	icebergio "github.com/apache/iceberg-go/io"

	"taximeter/checkpoint"
	"taximeter/schemas"
	"taximeter/sinks"
)

// maintainHard does everything at once, to files and snapshots of any age: as if the lake had
// been left alone for a year.
func (w *world) maintainHard(l *Lake) []Upkeep {
	w.t.Helper()
	was := l.cfg.Maintenance
	m := was
	m.SmallFiles, m.History, m.OrphanAge, m.OrphansEvery = 2, 0, 0, 0
	l.cfg.Maintenance = m
	defer func() { l.cfg.Maintenance = was }()
	done, err := l.Maintain(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return done
}

// files counts a table's files by their last folder.
func files(t *testing.T, l *Lake, of *shape) (data, metadata int, metadataBytes int64) {
	t.Helper()
	tbl, err := l.load(t.Context(), of)
	if err != nil {
		t.Fatal(err)
	}
	store, err := tbl.FS(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	err = store.(icebergio.ListableIO).WalkDir(tbl.Location(), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if strings.Contains(path, "/metadata/") {
			metadata++
			metadataBytes += info.Size()
		} else {
			data++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return data, metadata, metadataBytes
}

// writeOrphan leaves a file among a table's that nothing cites.
func writeOrphan(t *testing.T, l *Lake) {
	tbl, err := l.load(t.Context(), &l.bills.shape)
	if err != nil {
		t.Fatal(err)
	}
	store, err := tbl.FS(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := store.(icebergio.WriteFileIO).WriteFile(tbl.Location()+"/data/left-by-a-crash.parquet", []byte("x")); err != nil {
		t.Fatal(err)
	}
}

func TestMaintenanceKeepsRowsAndMergesFiles(t *testing.T) {
	w := newWorld(t)
	l := w.open()
	for n := range 6 {
		made := checkpoint.Number(2 + n)
		i := item(0, made, w.telemetry(0, fmt.Sprint("trip-", n%2), 10))
		i.Outbox.Bills = []schemas.Bill{bill("a", 1+n, noon, 100), bill(fmt.Sprint("b", n), 1, noon, 100)}
		commit(t, l, made, i)
	}
	writeOrphan(t, l)
	done := w.maintainHard(l)
	wantEachOnce(t, l, 60)
	bills := []string{"a 6", "b0 1", "b1 1", "b2 1", "b3 1", "b4 1", "b5 1"}
	wantRows(t, l, TableBills, []string{columnTrip, columnVersion}, bills...)
	if p, err := l.Progress(t.Context()); err != nil || p.Made != 7 {
		t.Fatal(p, err)
	}
	if data, _, _ := files(t, l, &l.bills.shape); data != 1 {
		t.Errorf("%d files of bills, want 1: %+v", data, done)
	}
	if data, _, _ := files(t, l, &l.telemetry.shape); data > 2 {
		t.Errorf("%d files of telemetry, want one per bucket: %+v", data, done)
	}
	at := slices.IndexFunc(done, func(u Upkeep) bool { return u.Table == TableBills })
	if u := done[at]; u.FilesBefore != 6 || u.FilesAfter != 1 || u.Deletes != 5 || u.Orphans == 0 || u.Snapshots == 0 {
		t.Errorf("%+v", u)
	}
	// The second time there is nothing left to do, and the lake goes on.
	for _, u := range w.maintainHard(l) {
		if u.FilesBefore != 0 {
			t.Errorf("again: %+v", u)
		}
	}
	i := item(0, 9, w.telemetry(0, "trip-0", 1))
	i.Outbox.Bills = []schemas.Bill{bill("a", 7, noon, 100)}
	commit(t, l, 9, i)
	bills[0] = "a 7"
	wantRows(t, l, TableBills, []string{columnTrip, columnVersion}, bills...)
}

// Deletes that are committed while a compaction is under way apply to what it writes.
func TestCompactionOverTakenByACorrection(t *testing.T) {
	w := newWorld(t)
	l, other := w.open(), w.open()
	for n := range 3 {
		i := item(0, checkpoint.Number(2+n))
		i.Outbox.Bills = []schemas.Bill{bill(fmt.Sprint("t", n), 1, noon, 100)}
		commit(t, l, i.Made, i)
	}
	tbl, err := l.load(t.Context(), &l.bills.shape)
	if err != nil {
		t.Fatal(err)
	}
	tasks, err := tbl.Scan().PlanFiles(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	l.cfg.Maintenance.SmallFiles = 2
	groups := l.due(tbl, &l.bills.shape, tasks)
	if len(groups) != 1 {
		t.Fatalf("%d groups", len(groups))
	}
	i := item(0, 6)
	i.Outbox.Bills = []schemas.Bill{bill("t1", 2, noon, 200)}
	commit(t, other, 6, i)
	var u Upkeep
	if err := l.rewrite(t.Context(), tbl, &l.bills.shape, groups[0], &u); err != nil || u.FilesBefore != 3 || u.Deletes != 0 {
		t.Fatal(u, err)
	}
	wantRows(t, l, TableBills, []string{columnTrip, columnVersion}, "t0 1", "t1 2", "t2 1")
	if err := l.rewrite(t.Context(), tbl, &l.bills.shape, groups[0], &u); err != nil || u.FilesBefore != 3 {
		t.Fatal("a compaction of files that are gone: ", u, err)
	}
	w.maintainHard(l)
	wantRows(t, l, TableBills, []string{columnTrip, columnVersion}, "t0 1", "t1 2", "t2 1")
}

// A restore finds its rows after every snapshot of the line has been expired and all files
// merged.
func TestExpiryAndCompactionBetweenCheckpointAndRestore(t *testing.T) {
	w := newWorld(t)
	l := w.open()
	for n := range 6 {
		i := item(0, checkpoint.Number(2+n), w.telemetry(0, "a", 3))
		commit(t, l, i.Made, i)
	}
	w.maintainHard(l)
	if err := l.Rewind(t.Context(), sinks.Progress{Made: 7}, checkpoint.Span{After: 3, Through: 7}); err != nil {
		t.Fatal(err)
	}
	wantEachOnce(t, l, 6)
	w.maintainHard(l)
	w.next[lane{schemas.Telemetry, 0}] = 6
	commit(t, l, 9, item(0, 9, w.told(lane{schemas.Telemetry, 0}, schemas.VerdictRun{Verdict: schemas.Counted, Length: 12})))
	wantEachOnce(t, l, 18)
}
