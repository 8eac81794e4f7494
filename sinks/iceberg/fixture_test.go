package iceberg

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/iceberg-go"

	"taximeter/checkpoint"
	"taximeter/internal/serverstest"
	"taximeter/schemas"
	"taximeter/schemas/avro"
	"taximeter/schemas/codec"
	"taximeter/sinks"
)

// Schema ids of the contracts in tests.
const (
	idTelemetry = 1 + iota
	idRides
	idPayments
)

// memoryLog is the input topics in memory.
type memoryLog struct {
	records map[lane][]Record
	starts  [schemas.NumInputs]map[schemas.Partition]schemas.Offset
	schemas map[int]string
}

func newMemoryLog() *memoryLog {
	return &memoryLog{records: map[lane][]Record{}, schemas: map[int]string{idTelemetry: avro.Telemetria, idRides: avro.EventoCorrida, idPayments: avro.EventoPagamento}}
}

func (m *memoryLog) Starts(context.Context) ([schemas.NumInputs]map[schemas.Partition]schemas.Offset, error) {
	return m.starts, nil
}

func (m *memoryLog) Read(_ context.Context, ranges []Range, take func(*Record) error) error {
	for _, r := range ranges {
		for _, x := range m.records[lane{r.Topic, r.Partition}] {
			if x.Offset >= r.First && x.Offset < r.Next {
				if err := take(&x); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (m *memoryLog) Schema(_ context.Context, id int) (string, error) {
	text, ok := m.schemas[id]
	if !ok {
		return "", fmt.Errorf("no schema %d", id)
	}
	return text, nil
}

// noon is an instant of event time.
const noon schemas.Millis = 1_764_000_000_000 / 86_400_000 * 86_400_000

// world is a log, and what owners tell of it.
type world struct {
	t     *testing.T
	log   *memoryLog
	cfg   Config
	next  map[lane]schemas.Offset // first offset not yet in an outbox
	ids   int
	clock schemas.Millis // append time
}

// onREST in the environment puts worlds on the REST catalog that .ci/with-servers tells of.
const onREST = "TAXIMETER_LAKE_ON_REST"

// restCatalog is a database of its own in the REST catalog, with the files in S3.
func restCatalog(t *testing.T, cfg *Config) {
	t.Helper()
	cfg.Catalog, cfg.Token = serverstest.Setting(t, "TAXIMETER_CATALOG_URL"), serverstest.Setting(t, "TAXIMETER_CATALOG_TOKEN")
	cfg.Database = fmt.Sprint("lake", time.Now().UnixNano())
	cfg.Warehouse = Warehouse{S3: serverstest.S3(t)}
}

func newWorld(t *testing.T) *world {
	dir := t.TempDir()
	cfg := Default()
	cfg.Catalog, cfg.Warehouse.Folder = "sqlite:"+filepath.Join(dir, "catalog.db"), filepath.Join(dir, "lake")
	if os.Getenv(onREST) != "" {
		restCatalog(t, &cfg)
	}
	cfg.ChunkRows = 1000
	return &world{t: t, log: newMemoryLog(), cfg: cfg, next: map[lane]schemas.Offset{}, clock: noon}
}

func (w *world) open() *Lake {
	w.t.Helper()
	l, err := Open(w.t.Context(), w.cfg, "ns", w.log, slog.New(slog.DiscardHandler))
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if err := l.Close(); err != nil {
			w.t.Error(err)
		}
	})
	return l
}

func (w *world) append(l lane, value []byte) {
	records := w.log.records[l]
	o := schemas.Offset(0)
	if len(records) > 0 {
		o = records[len(records)-1].Offset + 1
	}
	w.clock += 10
	w.log.records[l] = append(records, Record{l.topic, l.partition, o, w.clock, value})
}

// telemetry appends n positions of a trip and tells of them all as counted.
func (w *world) telemetry(p schemas.Partition, trip string, n int) schemas.VerdictSpan {
	w.t.Helper()
	for range n {
		w.ids++
		rec := schemas.TelemetryRecord{EventID: schemas.EventID(fmt.Sprintf("e%08d", w.ids)), TripID: schemas.TripID(trip), DriverID: "m", At: w.clock, Lat: -19.9, Lon: -43.9}
		value, err := codec.AppendTelemetry(nil, idTelemetry, &rec)
		if err != nil {
			w.t.Fatal(err)
		}
		w.append(lane{schemas.Telemetry, p}, value)
	}
	return w.told(lane{schemas.Telemetry, p}, schemas.VerdictRun{Verdict: schemas.Counted, Length: int64(n)})
}

func (w *world) ride(p schemas.Partition, rec schemas.RideRecord) schemas.VerdictSpan {
	w.t.Helper()
	value, err := codec.AppendRide(nil, idRides, &rec)
	if err != nil {
		w.t.Fatal(err)
	}
	w.append(lane{schemas.Rides, p}, value)
	return w.told(lane{schemas.Rides, p}, schemas.VerdictRun{Verdict: schemas.Counted, Length: 1})
}

// told is a span of the lane that goes on where the last ended.
func (w *world) told(l lane, runs ...schemas.VerdictRun) schemas.VerdictSpan {
	s := schemas.VerdictSpan{Topic: l.topic, First: w.next[l], Runs: runs}
	w.next[l] = s.Next()
	return s
}

func item(p schemas.Partition, made checkpoint.Number, spans ...schemas.VerdictSpan) sinks.Item {
	return sinks.Item{Partition: p, Made: made, Outbox: schemas.Outbox{Verdicts: spans}}
}

func bill(trip string, version int, start schemas.Millis, amount schemas.Cents) schemas.Bill {
	return schemas.Bill{TripID: schemas.TripID(trip), EventID: schemas.BillEventID(schemas.TripID(trip), version), Version: version, Amount: amount,
		Currency: "BRL", TariffID: "t", Multiplier: schemas.OneMils, Start: start, End: start + schemas.Hour, Rectification: version > 1}
}

func window(trip string, start schemas.Millis, version, points int) schemas.Window {
	return schemas.Window{TripID: schemas.TripID(trip), Start: start, Version: version, Points: points}
}

// commit takes the lake from where it stands to a checkpoint.
func commit(t *testing.T, l *Lake, to checkpoint.Number, items ...sinks.Item) {
	t.Helper()
	from, err := l.Progress(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Commit(t.Context(), from, sinks.Progress{Made: to, Restores: from.Restores}, items); err != nil {
		t.Fatal(err)
	}
}

// values reads columns of a table, as text, sorted.
func values(t *testing.T, l *Lake, name string, columns ...string) []string {
	t.Helper()
	for _, s := range l.shapes() {
		if s.name != name {
			continue
		}
		tbl, err := l.load(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		err = scan(t.Context(), tbl, iceberg.AlwaysTrue{}, columns, func(batch arrow.RecordBatch) error {
			for i := range int(batch.NumRows()) {
				row := ""
				for _, c := range columns {
					a, err := columnOf[arrow.Array](batch, c)
					if err != nil {
						return err
					}
					row += a.ValueStr(i) + " "
				}
				all = append(all, row[:len(row)-1])
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(all)
		return all
	}
	t.Fatalf("no table %s", name)
	return nil
}

func wantRows(t *testing.T, l *Lake, table string, columns []string, want ...string) {
	t.Helper()
	if got := values(t, l, table, columns...); !slices.Equal(got, want) {
		t.Errorf("%s %v:\n%q, want\n%q", table, columns, got, want)
	}
}

// wantEachOnce checks that the rows are exactly n different records.
func wantEachOnce(t *testing.T, l *Lake, n int) {
	t.Helper()
	got := values(t, l, TableTelemetry, columnPartition, columnOffset)
	distinct := slices.Compact(slices.Clone(got))
	if len(got) != n || len(distinct) != n {
		t.Fatalf("%d rows, %d of them different, want %d", len(got), len(distinct), n)
	}
}
