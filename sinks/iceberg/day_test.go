package iceberg

import (
	"errors"
	"flag"
	"fmt"
	"sync"
	"syscall"
	"testing"
	"time"

	"taximeter/checkpoint"
	"taximeter/schemas"
	"taximeter/sinks"
)

var (
	dayCommits = flag.Int("lake.commits", 60, "commits of the fast-forwarded run; a day at 30 s has 2880")
	raceFor    = flag.Duration("lake.race", time.Second, "how long two committers and two compactions run against each other")
)

// processor is the CPU time that the process has used.
func processor() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// checkpointOf is what two partitions tell of half a minute: positions, new bills, a
// corrected one, windows.
func (w *world) checkpointOf(n int) []sinks.Item {
	made := checkpoint.Number(2 + n)
	at := noon + schemas.Millis(n)*30*schemas.Second
	w.clock = max(w.clock, at)
	trip := fmt.Sprint("trip-", n)
	a := item(0, made, w.telemetry(0, trip, 20))
	a.Outbox.Bills = []schemas.Bill{bill(trip, 1, at, 100)}
	a.Outbox.Windows = []schemas.Window{window(trip, at, 1, 20)}
	if n >= 3 && n%3 == 0 {
		earlier := fmt.Sprint("trip-", n-3)
		a.Outbox.Bills = append(a.Outbox.Bills, bill(earlier, 2, at-90*schemas.Second, 200))
		a.Outbox.Windows = append(a.Outbox.Windows, window(earlier, at-90*schemas.Second, 2, 21))
	}
	return []sinks.Item{a, item(1, made, w.telemetry(1, trip+"b", 20))}
}

func (w *world) wantCheckpoints(l *Lake, n int) {
	w.t.Helper()
	wantEachOnce(w.t, l, 40*n)
	corrected := (n - 1) / 3
	rows := func(table string) int { return len(values(w.t, l, table, columnTrip)) }
	if b, h, x, y := rows(TableBills), rows(TableBillVersions), rows(TableWindows), rows(TableWindowVersions); b != n || h != n+corrected || x != n || y != n+corrected {
		w.t.Errorf("%d bills in %d versions and %d windows in %d, want %d in %d", b, h, x, y, n, n+corrected)
	}
	if gaps := w.gaps(l); gaps != 0 {
		w.t.Errorf("%d offsets are said to be missing", gaps)
	}
}

// A day of commits: each costs what the first did, and files and metadata stay few.
func TestCommitsOfADay(t *testing.T) {
	n := *dayCommits
	w := newWorld(t)
	l := w.open()
	l.cfg.Maintenance.History = 5 * time.Second // of real time: the commits of some minutes
	start := processor()
	costs := make([]time.Duration, n)
	var upkeep time.Duration
	for i := range n {
		items := w.checkpointOf(i)
		before := processor()
		commit(t, l, checkpoint.Number(2+i), items...)
		costs[i] = processor() - before
		if i%20 == 19 {
			before := processor()
			if _, err := l.Maintain(t.Context()); err != nil {
				t.Fatal(err)
			}
			upkeep += processor() - before
		}
	}
	mean := func(of []time.Duration) (sum time.Duration) {
		for _, c := range of {
			sum += c
		}
		return sum / time.Duration(len(of))
	}
	some := min(100, n/3)
	first, last := mean(costs[:some]), mean(costs[n-some:])
	t.Logf("%d commits: CPU per commit %s (first %d) and %s (last %d); maintenance %s a commit; all %s", n, first, some, last, some, upkeep/time.Duration(n), processor()-start)
	limit := first * 3 / 2
	if n < 300 { // the tables are empty in the beginning, and a short run is mostly that
		limit = first * 2
	}
	if last > limit {
		t.Errorf("a commit costs %s after %d commits, and %s in the beginning", last, n, first)
	}
	for _, s := range l.shapes() {
		tbl, err := l.load(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		data, metadata, bytes := files(t, l, s)
		snapshots := len(tbl.Metadata().Snapshots())
		t.Logf("%-16s %4d files of data, %4d of metadata (%d KB), %d snapshots", s.name, data, metadata, bytes>>10, snapshots)
		if snapshots > n+20 {
			t.Errorf("table %s has %d snapshots after %d commits", s.name, snapshots, n)
		}
		for _, snap := range tbl.Metadata().Snapshots() {
			p := snap.Summary.Properties
			if snap.Summary.Operation == "append" && p["added-records"] == "" {
				t.Errorf("table %s: snapshot %d adds nothing", s.name, snap.SnapshotID)
			}
		}
	}
	w.wantCheckpoints(l, n)
}

// Two committers take the same checkpoints while two maintenances merge and expire.
func TestCommittersAndCompactionsAtOnce(t *testing.T) {
	w := newWorld(t)
	l := w.open()
	var items [][]sinks.Item
	for n := range int(*raceFor/time.Second)*4 + 20 {
		items = append(items, w.checkpointOf(n))
	}
	last := checkpoint.Number(1 + len(items))
	end := make(chan struct{})
	over := time.Now().Add(*raceFor)
	var committers, others sync.WaitGroup
	for c := range 2 {
		mine := w.open()
		committers.Go(func() {
			for step := checkpoint.Number(1 + c); ; {
				from, err := mine.Progress(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				if from.Made == last || from.Made > 20 && time.Now().After(over) {
					return
				}
				to := sinks.Progress{Made: min(max(from.Made, 1)+step, last)}
				var due []sinks.Item
				for m := max(from.Made, 1) + 1; m <= to.Made; m++ {
					due = append(due, items[m-2]...)
				}
				if err := mine.Commit(t.Context(), from, to, due); err != nil && !errors.Is(err, sinks.ErrMoved) {
					t.Logf("a commit will be tried again: %v", err)
				}
			}
		})
		keeper := w.open()
		keeper.cfg.Maintenance.SmallFiles, keeper.cfg.Maintenance.History = 4, time.Minute
		others.Go(func() {
			for {
				select {
				case <-end:
					return
				default:
				}
				if _, err := keeper.Maintain(t.Context()); err != nil {
					t.Logf("a maintenance will be tried again: %v", err)
				}
			}
		})
	}
	committers.Wait()
	close(end)
	others.Wait()
	reached, err := l.Progress(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d checkpoints in %s", reached.Made-1, *raceFor)
	// Whoever stopped amid a commit left tables ahead of the others.
	var rest []sinks.Item
	for m := reached.Made + 1; m <= last; m++ {
		rest = append(rest, items[m-2]...)
	}
	commit(t, l, last, rest...)
	w.wantCheckpoints(l, len(items))
}
