package iceberg

import (
	"errors"
	"fmt"
	"testing"

	"taximeter/checkpoint"
	"taximeter/schemas"
	"taximeter/sinks"
)

func TestCommitHoldsEventsBillsWindowsAndVerdicts(t *testing.T) {
	w := newWorld(t)
	l := w.open()
	i1 := item(0, 2, w.telemetry(0, "a", 3), w.ride(0, schemas.RideRecord{EventID: "r1", TripID: "a", At: noon, Kind: "INICIO", Route: []schemas.LatLon{{Lat: 1, Lon: 2}, {Lat: 3, Lon: 4}}}))
	i1.Outbox.Bills = []schemas.Bill{bill("a", 1, noon, 1050)}
	i1.Outbox.Windows = []schemas.Window{window("a", noon, 1, 3), window("a", noon+5*schemas.Minute, 1, 2)}
	commit(t, l, 2, i1)
	i2 := item(0, 3, w.telemetry(0, "a", 2))
	i2.Outbox.Bills = []schemas.Bill{bill("a", 2, noon, 1100), bill("b", 1, noon, 700), bill("b", 2, noon, 800)}
	i2.Outbox.Windows = []schemas.Window{window("a", noon, 2, 4)}
	commit(t, l, 4, i2)
	if p, err := l.Progress(t.Context()); err != nil || p != (sinks.Progress{Made: 4}) {
		t.Fatal(p, err)
	}
	wantEachOnce(t, l, 5)
	wantRows(t, l, TableRides, []string{"event_id", "tipo", "rota_prevista"}, `r1 INICIO [{"latitude":1,"longitude":2},{"latitude":3,"longitude":4}]`)
	wantRows(t, l, TableBills, []string{columnTrip, columnVersion, "valor"}, "a 2 11", "b 2 8")
	wantRows(t, l, TableBillVersions, []string{columnTrip, columnVersion, "valor"}, "a 1 10.5", "a 2 11", "b 1 7", "b 2 8")
	wantRows(t, l, TableWindows, []string{columnVersion, "pontos"}, "1 2", "2 4")
	wantRows(t, l, TableWindowVersions, []string{columnVersion, "pontos"}, "1 2", "1 3", "2 4")
	wantRows(t, l, TableVerdicts, []string{columnTopic, columnFirst, columnNext, columnCheckpoint, "contado", "controle"},
		"corridas.eventos 0 1 2 1 0", "corridas.telemetria 0 3 2 3 0", "corridas.telemetria 3 5 3 2 0")
}

// A correction moves the start of a trip to another day, and to a year in which nobody
// would look for it.
func TestBillMovesToAnotherDay(t *testing.T) {
	w := newWorld(t)
	l := w.open()
	for v, start := range []schemas.Millis{noon, noon - schemas.Day, schemas.MinInstant, noon} {
		i := item(0, checkpoint.Number(2+v))
		i.Outbox.Bills = []schemas.Bill{bill("a", v+1, start, 100)}
		commit(t, l, i.Made, i)
		wantRows(t, l, TableBills, []string{columnTrip, columnVersion}, fmt.Sprint("a ", v+1))
	}
}

func TestOtherCommitterWasFaster(t *testing.T) {
	w := newWorld(t)
	a, b := w.open(), w.open()
	i := item(0, 2, w.telemetry(0, "a", 3))
	commit(t, a, 2, i)
	if err := b.Commit(t.Context(), sinks.Progress{}, sinks.Progress{Made: 2}, []sinks.Item{i}); !errors.Is(err, sinks.ErrMoved) {
		t.Fatal(err)
	}
	wantEachOnce(t, a, 3)
}
