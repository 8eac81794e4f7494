package iceberg

import (
	"strings"
	"testing"

	"taximeter/schemas"
	"taximeter/sinks"
)

func TestNewNullableColumnWhileRunning(t *testing.T) {
	w := newWorld(t)
	older := w.open()
	commit(t, older, 2, item(0, 2, w.telemetry(0, "a", 2)))
	newer := w.open() // of a version that knows one column more
	extra := optText("altitude", "Metres.", func(r *raw[schemas.TelemetryRecord]) *string { s := "760"; return &s })
	newer.telemetry.columns = append(newer.telemetry.columns, extra)
	newer.telemetry.fields = append(newer.telemetry.fields, extra.field)
	if err := newer.prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	commit(t, older, 3, item(0, 3, w.telemetry(0, "a", 1)))
	commit(t, newer, 4, item(0, 4, w.telemetry(0, "a", 1)))
	commit(t, older, 5, item(0, 5, w.telemetry(0, "a", 1)))
	wantRows(t, newer, TableTelemetry, []string{columnOffset, "altitude"}, "0 (null)", "1 (null)", "2 (null)", "3 760", "4 (null)")
	if err := older.prepare(t.Context()); err != nil {
		t.Errorf("the older version does not start any more: %v", err)
	}
}

func TestTablesThatDoNotFitAreRefused(t *testing.T) {
	w := newWorld(t)
	l := w.open()
	for _, c := range []struct {
		change func(*Lake)
		want   string
	}{
		{func(l *Lake) { l.namespace = "other" }, `belongs to namespace "ns", not "other"`},
		{func(l *Lake) { l.rides.fields[3].Type = centsType }, "column tipo is string, not decimal(12, 2)"},
		{func(l *Lake) { l.rides.fields[3].Name = "tipo_novo" }, "column tipo_novo is missing and cannot be null"},
		{func(l *Lake) { l.rides.fields[3].Required = false }, "column tipo is required, and we write nulls"},
	} {
		other := newLake(w.cfg, l.namespace, w.log, l.log, l.catalog, nil)
		c.change(other)
		if err := other.prepare(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

// What Kafka no longer holds stops the lake, or is written down.
func TestOffsetsBeyondRetention(t *testing.T) {
	w := newWorld(t)
	l := w.open()
	w.telemetry(0, "a", 10)
	w.next[lane{schemas.Telemetry, 0}] = 0
	first := item(0, 2, w.told(lane{schemas.Telemetry, 0}, schemas.VerdictRun{Verdict: schemas.Counted, Length: 3}, schemas.VerdictRun{Verdict: schemas.Duplicate, Length: 1}))
	second := item(0, 3, w.told(lane{schemas.Telemetry, 0}, schemas.VerdictRun{Verdict: schemas.Counted, Length: 2}, schemas.VerdictRun{Verdict: schemas.NoRecord, Length: 1}, schemas.VerdictRun{Verdict: schemas.Late, Length: 3}))
	records := lane{schemas.Telemetry, 0}
	w.log.records[records] = w.log.records[records][5:]
	w.log.starts[schemas.Telemetry] = map[schemas.Partition]schemas.Offset{0: 5}
	err := l.Commit(t.Context(), sinks.Progress{}, sinks.Progress{Made: 3}, []sinks.Item{first, second})
	if err == nil || !strings.Contains(err.Error(), "corridas.telemetria partition 0 no longer holds offsets 0 to 3, which the lake lacks (it begins at 5)") {
		t.Fatal(err)
	}
	l.cfg.OnLoss = lossRecord
	commit(t, l, 3, first, second)
	wantRows(t, l, TableTelemetry, []string{columnOffset, "veredito"}, "5 contado", "7 atrasado", "8 atrasado", "9 atrasado")
	wantRows(t, l, TableVerdicts, []string{columnFirst, columnNext, "contado", "atrasado", "duplicado", "controle", "perdidos"},
		"0 4 3 0 1 0 3", "4 5 1 0 0 0 1", "5 10 1 3 0 1 0")
}

// A record that does not come is never passed over.
func TestRecordThatDoesNotCome(t *testing.T) {
	w := newWorld(t)
	l := w.open()
	i := item(0, 2, w.telemetry(0, "a", 5))
	records := lane{schemas.Telemetry, 0}
	all := w.log.records[records]
	for missing := range all {
		w.log.records[records] = append(append([]Record{}, all[:missing]...), all[missing+1:]...)
		if err := l.Commit(t.Context(), sinks.Progress{}, sinks.Progress{Made: 2}, []sinks.Item{i}); err == nil || !strings.Contains(err.Error(), "did not come") {
			t.Errorf("without offset %d: %v", missing, err)
		}
	}
	if data, _, _ := files(t, l, &l.telemetry.shape); data != 0 {
		t.Errorf("%d files are left of refused commits", data)
	}
	w.log.records[records] = all
	commit(t, l, 2, i)
	wantEachOnce(t, l, 5)
}

// A day of append times is cut into hours, and the rows tile the offsets.
func TestVerdictsByHour(t *testing.T) {
	w := newWorld(t)
	l := w.open()
	w.telemetry(0, "a", 2)
	w.clock += schemas.Hour
	w.telemetry(0, "a", 2)
	w.next[lane{schemas.Telemetry, 0}] = 0
	commit(t, l, 2, item(0, 2, w.told(lane{schemas.Telemetry, 0}, schemas.VerdictRun{Verdict: schemas.Counted, Length: 1},
		schemas.VerdictRun{Verdict: schemas.DLQBadPosition, Length: 2}, schemas.VerdictRun{Verdict: schemas.Counted, Length: 1}, schemas.VerdictRun{Verdict: schemas.NoRecord, Length: 3})))
	commit(t, l, 3, item(0, 3, w.told(lane{schemas.Telemetry, 0}, schemas.VerdictRun{Verdict: schemas.NoRecord, Length: 4})))
	at := func(m schemas.Millis) string { return m.Time().Format("2006-01-02T15:04:05Z") }
	wantRows(t, l, TableVerdicts, []string{columnFirst, columnNext, "contado", "dlq_coordenadas_invalidas", "controle", columnHour},
		"0 2 1 1 0 "+at(noon), "2 7 1 1 3 "+at(noon+schemas.Hour), "7 11 0 0 4 (null)")
	wantEachOnce(t, l, 2)
}

// An operator set a partition back: the offsets are told of twice, in one commit.
func TestOffsetsToldOfTwice(t *testing.T) {
	w := newWorld(t)
	l := w.open()
	a := item(0, 2, w.telemetry(0, "a", 4))
	w.next[lane{schemas.Telemetry, 0}] = 1
	b := item(0, 3, w.told(lane{schemas.Telemetry, 0}, schemas.VerdictRun{Verdict: schemas.Duplicate, Length: 3}), w.ride(0, schemas.RideRecord{EventID: "r", TripID: "a", At: noon, Kind: "MATCH"}))
	commit(t, l, 3, a, b)
	wantEachOnce(t, l, 4)
	wantRows(t, l, TableVerdicts, []string{columnFirst, columnNext, "contado", "duplicado", columnCheckpoint}, "0 1 1 0 3", "0 4 4 0 2", "1 4 0 3 3")
}

// Writers with symbols and types of their own: rows keep what was written, or at least what
// the meter read.
func TestForeignSchemas(t *testing.T) {
	w := newWorld(t)
	l := w.open()
	w.log.schemas[77] = `{"type":"record","name":"R","fields":[{"name":"eventId","type":"string"},{"name":"tripId","type":"string"},{"name":"ocorridoEm","type":"long"},
		{"name":"tipo","type":{"type":"enum","name":"E","symbols":["PAUSA"]}},{"name":"regiao","type":["null","string"]}]}`
	w.log.schemas[78] = `{"type":"record","name":"R","fields":[{"name":"eventId","type":"string"},{"name":"tripId","type":"string"},{"name":"ocorridoEm","type":"long"},
		{"name":"tipo","type":{"type":"enum","name":"E","symbols":["INICIO"]}},{"name":"nota","type":"string"},{"name":"regiao","type":["null","string"]}]}`
	rides := lane{schemas.Rides, 0}
	text := func(s string) string { return string([]byte{byte(2 * len(s))}) + s }
	w.append(rides, []byte("\x00\x00\x00\x00\x4d"+text("e1")+text("a")+"\x02"+"\x00"+"\x00"))
	w.append(rides, []byte("\x00\x00\x00\x00\x4e"+text("e2")+text("a")+"\x02"+"\x00"+text("five")+"\x02"+text("recife")))
	commit(t, l, 2, item(0, 2, w.told(rides, schemas.VerdictRun{Verdict: schemas.Counted, Length: 2})))
	wantRows(t, l, TableRides, []string{"event_id", "tipo", "regiao", "nota"}, "e1 PAUSA (null) (null)", "e2 INICIO recife (null)")
}
