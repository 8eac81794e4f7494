package analytics_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"taximeter/checkpoint"
	"taximeter/schemas"
	"taximeter/sinks"
	"taximeter/sinks/analytics"
)

// database is what the acceptance suite is run on.
type database struct {
	// fresh is the URL of an empty database, gone when the test ends.
	fresh func(t testing.TB) string
	// exec runs SQL on it, past the sink.
	exec func(t testing.TB, url string, statements ...string)
	// setProgress are the statements that put the progress row at %d made and %d restores.
	setProgress []string
	// rowsFirst: rows and progress are two steps.
	rowsFirst bool
	// addColumn gives the table of trips a nullable column.
	addColumn string
}

const namespace = "cidade"

func open(t *testing.T, url string) *analytics.DB {
	t.Helper()
	db, err := analytics.Open(t.Context(), url, namespace, slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// suite is what every database must pass.
func suite(t *testing.T, d database) {
	for _, c := range []struct {
		name string
		run  func(*testing.T, database)
	}{
		{"rows come back as they were committed", testRoundTrip},
		{"the last of a commit wins", testLastWins},
		{"a commit done again changes nothing", testRepeat},
		{"a row gives way only to a later checkpoint", testGuard},
		{"who begins elsewhere is told so", testMoved},
		{"a restore is counted, rows wait for better ones", testRewind},
		{"windows older than a day are pruned", testRetention},
		{"the fleet follows corrections", testFleet},
		{"the fleet's windows follow their trips' regions", testFleetWindows},
		{"a column is added while the sink runs", testNewColumn},
		{"any history ends in the newest rows", testHistory},
		{"two committers at once", testCommitters},
		{"a committer is killed", testKilled},
		{"many open at once", testOpeners},
		{"a newer schema and another namespace are refused", testRefused},
		{"a commit that was cancelled happens whole or not", testCancelled},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, d) })
	}
}

const noon = schemas.Millis(1_790_000_000_000) / 300_000 * 300_000

func trip(id string, cents schemas.Cents) schemas.TripSummary {
	return schemas.TripSummary{TripID: schemas.TripID(id), Phase: "encerrada", Region: "recife", Category: "conforto",
		Start: noon + 1, End: noon + 600_123, DistanceMM: 5_000_001, DurationS: 600, Points: 60, Rejected: 2,
		BillVersion: 1, Amount: cents, Currency: "BRL", Reconciliation: "ok"}
}

func window(id string, start schemas.Millis, version int) schemas.Window {
	first, last, fast, mean := start+1, start+299_999, 61.25, 30.5
	return schemas.Window{TripID: schemas.TripID(id), Start: start, Version: version, Points: 12, Rejected: 1,
		DistanceMM: 1_500_000, TimeMS: 110_000, MaxKmh: &fast, MeanKmh: &mean, First: &first, Last: &last, Verdict: schemas.Late}
}

func item(made checkpoint.Number, trips []schemas.TripSummary, windows ...schemas.Window) sinks.Item {
	return sinks.Item{Made: made, Outbox: schemas.Outbox{Trips: trips, Windows: windows}}
}

func at(made checkpoint.Number) sinks.Progress { return sinks.Progress{Made: made} }

func commit(t *testing.T, db *analytics.DB, from, to sinks.Progress, items ...sinks.Item) {
	t.Helper()
	if err := db.Commit(t.Context(), from, to, items); err != nil {
		t.Fatal(err)
	}
}

func wantProgress(t *testing.T, db *analytics.DB, want sinks.Progress) {
	t.Helper()
	if got, err := db.Progress(t.Context()); err != nil || got != want {
		t.Fatalf("progress %+v, %v; want %+v", got, err, want)
	}
}

// trips and windows are the tables without the time of writing.
func trips(t *testing.T, db *analytics.DB) (all []analytics.Trip) {
	t.Helper()
	for row, err := range db.Trips(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if row.UpdatedAt < noon/2 {
			t.Fatalf("%s was updated at %d", row.TripID, row.UpdatedAt)
		}
		row.UpdatedAt = 0
		all = append(all, row)
	}
	return all
}

func windows(t *testing.T, db *analytics.DB) (all []analytics.Window) {
	t.Helper()
	for row, err := range db.Windows(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		row.UpdatedAt = 0
		all = append(all, row)
	}
	return all
}

func minutes(t *testing.T, db *analytics.DB, from, to schemas.Millis) (all []analytics.Minute) {
	t.Helper()
	for row, err := range db.Minutes(t.Context(), from, to) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, row)
	}
	return all
}

func wantTrips(t *testing.T, db *analytics.DB, want ...analytics.Trip) {
	t.Helper()
	wantRows(t, "viagens", trips(t, db), want)
}

// wantRows compares the rows of a table and shows where they first differ.
func wantRows[T any](t *testing.T, table string, got, want []T) {
	t.Helper()
	for i := range min(len(got), len(want)) {
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Fatalf("%s: row %d is\n%+v\nwant\n%+v", table, i, got[i], want[i])
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%s: %d rows, want %d", table, len(got), len(want))
	}
}

func testRoundTrip(t *testing.T, d database) {
	url := d.fresh(t)
	db := open(t, url)
	wantProgress(t, db, at(0))
	waiting := schemas.TripSummary{TripID: "a", Phase: "aguardando", Start: schemas.NoTime, End: schemas.NoTime, Reconciliation: "pendente"}
	odd := trip("b'; DROP TABLE viagens; -- é", 99_999_999_99)
	odd.StartInferred, odd.Motive, odd.BillVersion, odd.DistanceMM = true, schemas.MotiveNoStartSeen, 7, 1<<53+1
	odd.Region = "a\x00b"
	empty := schemas.Window{TripID: "a", Start: noon, Version: 2, Verdict: schemas.Rectified}
	full := window("b", noon, 1)
	commit(t, db, at(0), at(3), item(2, []schemas.TripSummary{waiting, odd}, empty, full))

	db = open(t, url)
	wantProgress(t, db, at(3))
	odd.Region = "a\uFFFDb" // PostgreSQL cannot hold a NUL
	wantTrips(t, db, analytics.Trip{TripSummary: waiting, Checkpoint: 2}, analytics.Trip{TripSummary: odd, Checkpoint: 2})
	want := []analytics.Window{{Window: empty, Checkpoint: 2}, {Window: full, Checkpoint: 2}}
	wantRows(t, "janelas", windows(t, db), want)
	commit(t, db, at(3), at(9)) // nothing but progress
	wantProgress(t, db, at(9))
}

func testLastWins(t *testing.T, d database) {
	db := open(t, d.fresh(t))
	commit(t, db, at(0), at(4),
		item(1, []schemas.TripSummary{trip("a", 100), trip("b", 100)}, window("a", noon, 1)),
		item(2, []schemas.TripSummary{trip("a", 200)}, window("a", noon, 2), window("a", noon, 3)),
		item(4, []schemas.TripSummary{trip("a", 400)}))
	wantTrips(t, db, analytics.Trip{TripSummary: trip("a", 400), Checkpoint: 4}, analytics.Trip{TripSummary: trip("b", 100), Checkpoint: 1})
	want := []analytics.Window{{Window: window("a", noon, 3), Checkpoint: 2}}
	wantRows(t, "janelas", windows(t, db), want)
}

// progress puts the progress row where it stood before, as a crash between rows and progress
// leaves it where there are no transactions, and as a copy of the database from another time.
func (d database) progress(t *testing.T, url string, p sinks.Progress) {
	var statements []string
	for _, s := range d.setProgress {
		if strings.Contains(s, "%d") {
			s = fmt.Sprintf(s, p.Made, p.Restores)
		}
		statements = append(statements, s)
	}
	d.exec(t, url, statements...)
}

func testRepeat(t *testing.T, d database) {
	url := d.fresh(t)
	db := open(t, url)
	items := []sinks.Item{item(1, []schemas.TripSummary{trip("a", 100)}, window("a", noon, 1)), item(2, []schemas.TripSummary{trip("a", 200)})}
	commit(t, db, at(0), at(2), items...)
	for range 3 {
		d.progress(t, url, at(0))
		commit(t, db, at(0), at(2), items...)
	}
	wantProgress(t, db, at(2))
	wantTrips(t, db, analytics.Trip{TripSummary: trip("a", 200), Checkpoint: 2})
	if got := windows(t, db); len(got) != 1 {
		t.Fatalf("%d windows, want 1", len(got))
	}
}

func testGuard(t *testing.T, d database) {
	url := d.fresh(t)
	db := open(t, url)
	commit(t, db, at(0), at(8), item(8, []schemas.TripSummary{trip("a", 800)}, window("a", noon, 8)))
	d.progress(t, url, at(0))
	commit(t, db, at(0), at(5), item(5, []schemas.TripSummary{trip("a", 500), trip("b", 500)}, window("a", noon, 5)))
	wantProgress(t, db, at(5))
	wantTrips(t, db, analytics.Trip{TripSummary: trip("a", 800), Checkpoint: 8}, analytics.Trip{TripSummary: trip("b", 500), Checkpoint: 5})
	if got := windows(t, db); len(got) != 1 || got[0].Version != 8 {
		t.Fatalf("windows %+v, want version 8", got)
	}
}

func testMoved(t *testing.T, d database) {
	db := open(t, d.fresh(t))
	commit(t, db, at(0), at(5), item(5, []schemas.TripSummary{trip("a", 500)}))
	for _, from := range []sinks.Progress{at(0), at(4), at(6), {Made: 5, Restores: 1}} {
		to := from
		to.Made += 10
		err := db.Commit(t.Context(), from, to, []sinks.Item{item(to.Made, []schemas.TripSummary{trip("a", 1), trip("b", 1)})})
		if !errors.Is(err, sinks.ErrMoved) {
			t.Errorf("a commit from %+v: %v", from, err)
		}
		if err := db.Rewind(t.Context(), from, checkpoint.Span{}); !errors.Is(err, sinks.ErrMoved) {
			t.Errorf("a rewind from %+v: %v", from, err)
		}
	}
	wantProgress(t, db, at(5))
	wantTrips(t, db, analytics.Trip{TripSummary: trip("a", 500), Checkpoint: 5})
}

func testRewind(t *testing.T, d database) {
	db := open(t, d.fresh(t))
	commit(t, db, at(0), at(5), item(3, []schemas.TripSummary{trip("a", 300)}), item(5, []schemas.TripSummary{trip("b", 500)}))
	if err := db.Rewind(t.Context(), at(5), checkpoint.Span{After: 3, Through: 5}); err != nil {
		t.Fatal(err)
	}
	rewound := sinks.Progress{Made: 5, Restores: 1}
	wantProgress(t, db, rewound)
	wantTrips(t, db, analytics.Trip{TripSummary: trip("a", 300), Checkpoint: 3}, analytics.Trip{TripSummary: trip("b", 500), Checkpoint: 5})
	commit(t, db, rewound, sinks.Progress{Made: 7, Restores: 1}, item(7, []schemas.TripSummary{trip("b", 700)}))
	wantProgress(t, db, sinks.Progress{Made: 7, Restores: 1})
	wantTrips(t, db, analytics.Trip{TripSummary: trip("a", 300), Checkpoint: 3}, analytics.Trip{TripSummary: trip("b", 700), Checkpoint: 7})
}

func testRetention(t *testing.T, d database) {
	db := open(t, d.fresh(t))
	const step = 300_000
	starts := func() (all []schemas.Millis) {
		for _, w := range windows(t, db) {
			all = append(all, w.Start-noon)
		}
		return all
	}
	day := analytics.WindowRetention
	newest := noon.Add(day)
	commit(t, db, at(0), at(1), item(1, nil, window("a", noon-step, 1), window("a", noon, 1), window("a", noon+step, 1)))
	commit(t, db, at(1), at(2), item(2, nil, window("b", newest, 1), window("b", noon-2*step, 1)))
	if got, want := starts(), []schemas.Millis{0, step, newest - noon}; !slices.Equal(got, want) {
		t.Fatalf("windows at %v, want %v", got, want)
	}
	commit(t, db, at(2), at(3), item(3, nil, window("c", noon-step, 1), window("c", noon, 2), window("a", noon, 2))) // late: only in part
	if got, want := starts(), []schemas.Millis{0, 0, step, newest - noon}; !slices.Equal(got, want) {
		t.Fatalf("windows at %v, want %v", got, want)
	}
	commit(t, db, at(3), at(4), item(4, nil, window("d", newest+400*step, 1)))
	if got, want := starts(), []schemas.Millis{newest + 400*step - noon}; !slices.Equal(got, want) {
		t.Fatalf("windows at %v, want %v", got, want)
	}
}

// testNewColumn adds a column under a running sink, as the next version's migration does.
func testNewColumn(t *testing.T, d database) {
	url := d.fresh(t)
	db := open(t, url)
	commit(t, db, at(0), at(4), chain(0, 4)...)
	d.exec(t, url, d.addColumn)
	commit(t, db, at(4), at(8), chain(4, 8)...)
	wantChain(t, db, 8)
}

// randomTrip is some version of one of n trips.
func randomTrip(r *rand.Rand, n int) schemas.TripSummary {
	s := trip(fmt.Sprintf("t%03d", r.IntN(n)), schemas.Cents(r.IntN(10_000)))
	s.Region = []string{"", "recife", "olinda"}[r.IntN(3)]
	s.Start += schemas.Millis(r.IntN(3_600_000))
	s.End = s.Start + schemas.Millis(r.IntN(3_600_000))
	s.BillVersion = 1 + r.IntN(3)
	switch r.IntN(4) {
	case 0:
		s.Phase, s.End, s.BillVersion, s.Amount, s.Currency = "em_curso", schemas.NoTime, 0, 0, ""
	case 1:
		s.Phase, s.Start, s.DistanceMM, s.DurationS = "cancelada", s.End, 0, 0
	}
	return s
}

// testHistory makes random commits, some of them again from where the progress row was put
// back, restores and reopenings, and compares with a table in memory.
func testHistory(t *testing.T, d database) {
	r := rand.New(rand.NewPCG(1, 5))
	url := d.fresh(t)
	db := open(t, url)
	var now sinks.Progress
	model := map[schemas.TripID]analytics.Trip{}
	for range 25 {
		from := now
		var items []sinks.Item
		for range r.IntN(4) {
			now.Made += checkpoint.Number(1 + r.IntN(2))
			it := item(now.Made, nil)
			for range r.IntN(80) {
				s := randomTrip(r, 200)
				it.Outbox.Trips = append(it.Outbox.Trips, s)
				model[s.TripID] = analytics.Trip{TripSummary: s, Checkpoint: now.Made}
			}
			items = append(items, it)
		}
		commit(t, db, from, now, items...)
		switch r.IntN(6) {
		case 0:
			d.progress(t, url, from)
			commit(t, db, from, now, items...)
		case 1:
			if err := db.Rewind(t.Context(), now, checkpoint.Span{After: from.Made, Through: now.Made}); err != nil {
				t.Fatal(err)
			}
			now.Restores++
		case 2:
			db = open(t, url)
		}
		wantProgress(t, db, now)
	}
	want := byID(model)
	wantTrips(t, db, want...)
	wantRows(t, "frota_minuto", minutes(t, db, 0, noon.Add(schemas.Day)), fleet(want))
}

func testRefused(t *testing.T, d database) {
	url := d.fresh(t)
	commit(t, open(t, url), at(0), at(1))
	refused := func(namespace string, words ...string) {
		t.Helper()
		db, err := analytics.Open(t.Context(), url, namespace, slog.New(slog.DiscardHandler))
		if err == nil {
			t.Fatal("it was opened", db.Close())
		}
		for _, w := range words {
			if !errors.Is(err, analytics.ErrRefused) || !strings.Contains(err.Error(), w) {
				t.Errorf("refused with %q, which does not say %q", err, w)
			}
		}
	}
	refused("outra", "belong to namespace cidade, not outra", "own database")
	d.exec(t, url, "INSERT INTO esquema (numero, nome) SELECT 99, 'later'")
	refused(namespace, "schema 99", "run the version that made them")
}

func testCancelled(t *testing.T, d database) {
	db := open(t, d.fresh(t))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := db.Commit(ctx, at(0), at(4), chain(0, 4)); !errors.Is(err, context.Canceled) {
		t.Fatalf("a cancelled commit: %v", err)
	}
	wantProgress(t, db, at(0))
	commit(t, db, at(0), at(4), chain(0, 4)...)
	wantChain(t, db, 4)
}
