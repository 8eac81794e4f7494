package chaos

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"taximeter/cmd/internal/chaos/inject"
)

// tenMinutes of an outage at the usual interval are twenty missed checkpoints; with
// DrawOrdeal's they take so long. `make ordeal` makes them in full.
const tenMinutes = 20 * 300 * time.Millisecond

// ordeal makes a node live through a fault. What it finds wrong in results fails the test.
func ordeal(t *testing.T, o Options, x Ordeal) Endured {
	t.Helper()
	o.Dir, o.Log = t.TempDir(), slog.New(slog.DiscardHandler)
	if o.Binary == "" {
		o.Binary = build(t)
	}
	e := Endure(t.Context(), o, x)
	if slices.ContainsFunc(e.Findings, func(f string) bool { return strings.Contains(f, ErrNeedsRoot.Error()) }) {
		if os.Getenv("CI") == "true" {
			t.Fatalf("%s: where all must be shown it cannot be left out", ErrNeedsRoot)
		}
		t.Skip(ErrNeedsRoot)
	}
	t.Logf("%s: %d alerts meanwhile, p99 %s, slowest %s; %d bills; %d checkpoints, tables behind by %v, harm %d; %d trips in memory; %d to %d MB, then %d; well after %s", x, len(e.Alerts),
		Percentile(e.Alerts, 99), Percentile(e.Alerts, 100), e.Bills, e.Checkpoints, e.Behind, e.Met, e.Resident, e.MemoryBefore>>20, e.Memory>>20, e.MemoryAfter>>20, e.Recovered)
	if !e.OK() {
		t.Errorf("duplicated=%d missing=%d differing=%d\n%s", e.Duplicated, e.Missing, e.Differing, strings.Join(e.Findings, "\n"))
	}
	if t.Failed() {
		t.Log(tail(e.Said))
	}
	return e
}

// alertsKept fails unless alerts came, and all in time.
func (e *Endured) alertsKept(t *testing.T) {
	t.Helper()
	const atLeast = 5
	if worst := Percentile(e.Alerts, 100); len(e.Alerts) < atLeast || worst >= 10*time.Second {
		t.Errorf("%d alerts, the slowest after %s", len(e.Alerts), worst)
	}
}

// says fails unless the node said so.
func (e *Endured) says(t *testing.T, words string) {
	t.Helper()
	if !strings.Contains(e.Said, words) {
		t.Errorf("the node did not say %q:\n%s", words, tail(e.Said))
	}
}

// A node that cannot be started again is an error, and what it said before is kept.
func TestANodeThatCannotBeRevivedIsToldOf(t *testing.T) {
	r := &ordealRun{run: run{o: Options{Binary: filepath.Join(t.TempDir(), "missing")}, dir: t.TempDir()}}
	var err error
	if r.process, err = spawn("echo", 1, true, inject.Plan{}, nil); err != nil {
		t.Fatal(err)
	}
	if err := r.process.end(t.Context(), endPatience); err != nil {
		t.Fatal(err)
	}
	r.process.said.WriteString("its words")
	if err := r.revive(t.Context()); err == nil {
		t.Error("a node without a program was started")
	}
	if err := r.finish(); err != nil || r.said != "its words" {
		t.Errorf("it said %q, %v", r.said, err)
	}
}

func TestTheObjectStoreIsDownForTenMinutes(t *testing.T) {
	t.Parallel()
	x := DrawOrdeal(1, StoreDown, tenMinutes)
	x.Rate, x.Resident = 700, 5
	e := ordeal(t, Options{}, x)
	e.alertsKept(t)
	e.says(t, "checkpoint failed; processing goes on, bills wait")
	if e.Checkpoints > 1 { // one may be under way
		t.Errorf("%d checkpoints without a store", e.Checkpoints)
	}
	if most := 5 * x.Resident; e.Resident > most { // some are changed meanwhile
		t.Errorf("%d trips stay in memory of one partition, %d may", e.Resident, x.Resident)
	}
}
