package iceberg

import (
	"errors"
	"testing"

	"taximeter/checkpoint"
	"taximeter/schemas"
	"taximeter/sinks"
)

// Back from checkpoint 6 to 2: what 3 to 6 consumed is consumed again, by other cuts.
func TestRestoreFromFourCheckpointsAgo(t *testing.T) {
	for _, compact := range []bool{false, true} {
		w := newWorld(t)
		l := w.open()
		var items []sinks.Item
		for n := range 5 {
			i := item(0, checkpoint.Number(2+n), w.telemetry(0, "a", 3), w.ride(0, schemas.RideRecord{EventID: "r", TripID: "a", At: noon, Kind: "MATCH"}))
			i.Outbox.Bills = []schemas.Bill{bill("a", 1+n, noon, 100)}
			items = append(items, i)
		}
		for _, i := range items[:4] { // the lake lacks the last
			commit(t, l, i.Made, i)
		}
		if compact {
			w.maintainHard(l)
		}
		from := sinks.Progress{Made: 5}
		line := checkpoint.Span{After: 2, Through: 6}
		if err := l.Rewind(t.Context(), from, line); err != nil {
			t.Fatal(err)
		}
		if err := l.Rewind(t.Context(), from, line); !errors.Is(err, sinks.ErrMoved) {
			t.Fatal("twice: ", err)
		}
		wantEachOnce(t, l, 3)
		wantRows(t, l, TableRides, []string{columnCheckpoint}, "2")
		// The last bill of the line is public all the same, its events are not told of.
		items[4].Abandoned = true
		w.next[lane{schemas.Telemetry, 0}], w.next[lane{schemas.Rides, 0}] = 3, 1
		again := item(0, 8, w.told(lane{schemas.Telemetry, 0}, schemas.VerdictRun{Verdict: schemas.Late, Length: 12}),
			w.told(lane{schemas.Rides, 0}, schemas.VerdictRun{Verdict: schemas.Counted, Length: 4}))
		commit(t, l, 8, items[4], again)
		wantEachOnce(t, l, 15)
		wantRows(t, l, TableRides, []string{columnCheckpoint}, "2", "8", "8", "8", "8")
		wantRows(t, l, TableBills, []string{columnVersion}, "5")
		wantRows(t, l, TableVerdicts, []string{columnTopic, columnFirst, columnNext, "atrasado"},
			"corridas.eventos 0 1 0", "corridas.eventos 1 5 0", "corridas.telemetria 0 3 0", "corridas.telemetria 3 15 12")
		if gaps := w.gaps(l); gaps != 0 {
			t.Errorf("%d offsets are said to be missing", gaps)
		}
	}
}

// A restore leaves out offsets only if somebody has lost an outbox.
func TestOffsetsLeftOutAreCounted(t *testing.T) {
	w := newWorld(t)
	l := w.open()
	commit(t, l, 2, item(0, 2, w.telemetry(0, "a", 3)))
	w.telemetry(0, "a", 2) // of an outbox that is lost
	commit(t, l, 4, item(0, 4, w.telemetry(0, "a", 1)))
	if gaps := w.gaps(l); gaps != 2 {
		t.Fatalf("%d offsets are said to be missing, want 2", gaps)
	}
	if err := l.Rewind(t.Context(), sinks.Progress{Made: 4}, checkpoint.Span{After: 3, Through: 4}); err != nil {
		t.Fatal(err)
	}
	w.next[lane{schemas.Telemetry, 0}] = 4
	commit(t, l, 6, item(0, 6, w.told(lane{schemas.Telemetry, 0}, schemas.VerdictRun{Verdict: schemas.Counted, Length: 2})))
	if gaps := w.gaps(l); gaps != 3 {
		t.Fatalf("%d offsets are said to be missing, want 3", gaps)
	}
}

func (w *world) gaps(l *Lake) int64 {
	w.t.Helper()
	tbl, err := l.load(w.t.Context(), &l.verdicts.shape)
	if err != nil {
		w.t.Fatal(err)
	}
	n, err := propertyInt(tbl, propertyGaps)
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}
