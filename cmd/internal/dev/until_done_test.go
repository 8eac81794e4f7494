package dev

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/actors/expression"
	"taximeter/actors/rule"
	"taximeter/cmd/internal/chaos"
	"taximeter/cmd/internal/city"
	"taximeter/cmd/internal/published"
	"taximeter/cmd/internal/recordings"
	"taximeter/cmd/internal/simulation"
	"taximeter/internal/shared"
	"taximeter/schemas"
	"taximeter/schemas/edge"
)

const start = schemas.Millis(1_767_592_800_000) // of generated events; any would do

// A generated stretch through the whole path, broker and all, gives what simulate gives: the
// bills and windows that stand are equal in every field but those that tell the history,
// nothing came twice, the alerts are the same, and every record has one verdict.
func TestAGeneratedStretchEqualsSimulate(t *testing.T) {
	const n = 40_000
	o := quiet(t)
	o.UntilDone, o.Out, o.Partitions = true, filepath.Join(t.TempDir(), "out"), 8
	o.Events = []string{generated(t, n, 50)}
	o.Tariffs, o.Rules = city.Tariffs(start), city.Rules(start)
	sum, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	wanted, verdicts := simulated(t, o)
	same(t, wanted, results(t, o.Out))
	if sum.Bills < 100 || sum.Windows < 500 || sum.Alerts < 5 || sum.DeadLetters < 50 {
		t.Errorf("too little happened: %+v", sum)
	}
	if got := sum.Records - sum.Verdicts[schemas.Own.String()]; got != n {
		t.Errorf("%d verdicts on %d events", got, n)
	}
	ends := inputEnds(t, o)
	for p, wanted := range verdicts {
		total, all := int64(0), int64(0)
		for v, n := range sum.Partitions[p] {
			if all += n; v != schemas.Own.String() {
				total += n
			}
		}
		events := int64(0)
		for _, n := range wanted {
			events += n
		}
		if total != events {
			t.Errorf("partition %s: %d verdicts on events, simulate has %d", p, total, events)
		}
		// What lies behind the end at the start are our own bills and their markers.
		if end := ends[p]; all > end {
			t.Errorf("partition %s: %d verdicts on %d offsets", p, all, end)
		}
	}
}

// The published recordings, by dev and by simulate alike, without the filter; and as they
// were worked out by a program that shares nothing with this one.
func TestRecordingsEqualSimulateAndTheReference(t *testing.T) {
	for _, c := range []struct {
		format  string
		inputs  []string
		trips   int // with points
		windows int
		meters  float64
	}{
		{"porto", []string{"data/porto_trips.csv.gz", "data/porto_points.csv.gz"}, 998, 3296, 6_714_188.866},
		{"liverpool", []string{"data/liverpool_bus_arrival_order.csv.gz"}, 0, 126, 108_084.845},
		{"envirocar", []string{"data/envirocar_points.csv.gz"}, 0, 59, 306_901.220},
	} {
		t.Run(c.format, func(t *testing.T) {
			o := quiet(t)
			o.UntilDone, o.Out, o.Partitions, o.MaxSpeedKmh = true, filepath.Join(t.TempDir(), "out"), 8, 0
			o.Events = []string{recorded(t, c.format, c.inputs)}
			o.Tariffs = []schemas.Tariff{{TariffID: "t", Region: schemas.Any, Category: schemas.Any, Currency: "EUR", Base: 2_500_000,
				PerKm: 800_000, PerMin: 200_000, Minimum: 4_000_000, CancelFee: 3_000_000, GraceS: 120}}
			sum, err := Run(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			wanted, _ := simulated(t, o)
			same(t, wanted, results(t, o.Out))
			if sum.Windows != c.windows || math.Abs(float64(sum.DistanceMM)/1000-c.meters) > 30 {
				t.Errorf("%d windows of %d mm, the reference has %d of %.3f m", sum.Windows, sum.DistanceMM, c.windows, c.meters)
			}
			if c.trips > 0 && sum.Trips != c.trips {
				t.Errorf("%d trips, the reference has %d", sum.Trips, c.trips)
			}
		})
	}
}

// A second run over the same folder finds all done, publishes nothing and says the same.
func TestUntilDoneAgainChangesNothing(t *testing.T) {
	o := quiet(t)
	o.UntilDone, o.Out = true, filepath.Join(t.TempDir(), "out")
	o.Events = []string{generated(t, 3_000, 8)}
	o.Tariffs, o.Rules = city.Tariffs(start), city.Rules(start)
	if _, err := Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	first := results(t, o.Out)
	sum, err := Run(t.Context(), o) // the events are sent again: all are known
	if err != nil {
		t.Fatal(err)
	}
	again := results(t, o.Out)
	same(t, first, again)
	if len(again.Bills) != len(first.Bills) || len(again.Windows) != len(first.Windows) {
		t.Errorf("%d bills and %d windows became %d and %d", len(first.Bills), len(first.Windows), len(again.Bills), len(again.Windows))
	}
	if sum.Verdicts[schemas.Duplicate.String()] < 2_800 {
		t.Errorf("sent twice, only %d are duplicates: %v", sum.Verdicts[schemas.Duplicate.String()], sum.Verdicts)
	}
}

// generated is an event file of the city, in the order in which the meter takes what was
// appended at one instant.
func generated(t *testing.T, n int64, rate float64) string {
	t.Helper()
	cfg := city.Default(7, start)
	cfg.Events, cfg.EventsPerSecond = n, rate
	c, err := city.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	var lines []edge.Line
	for l, ok := c.Next(); ok; l, ok = c.Next() {
		lines = append(lines, *l)
	}
	slices.SortStableFunc(lines, func(a, b edge.Line) int {
		return cmp.Or(cmp.Compare(a.AppendedAt, b.AppendedAt), cmp.Compare(a.Topic, b.Topic))
	})
	var text bytes.Buffer
	w := edge.NewWriter(&text)
	for i := range lines {
		if err := w.Write(&lines[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return file(t, text.Bytes())
}

func recorded(t *testing.T, format string, inputs []string) string {
	t.Helper()
	var paths []string
	for _, name := range inputs {
		paths = append(paths, shared.Path(t, name))
	}
	var text bytes.Buffer
	if _, err := recordings.Convert(t.Context(), format, paths, &text); err != nil {
		t.Fatal(err)
	}
	return file(t, text.Bytes())
}

func file(t *testing.T, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "events.jsonl")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// simulated is what simulate makes of the same, with its verdicts by partition.
func simulated(t *testing.T, o Options) (*published.Results, map[string]map[string]int64) {
	t.Helper()
	compile, err := expression.NewCompiler()
	if err != nil {
		t.Fatal(err)
	}
	book, err := rule.NewBook(o.Rules, compile)
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	if _, err := simulation.Run(t.Context(), simulation.Options{Events: o.Events, Tariffs: o.Tariffs, Rules: book, MaxSpeedKmh: o.MaxSpeedKmh,
		Partitions: o.Partitions, Out: out}); err != nil {
		t.Fatal(err)
	}
	var v struct {
		Partitions map[string]map[string]int64 `json:"particoes"`
	}
	text, err := os.ReadFile(filepath.Join(out, simulation.VerdictsFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	return results(t, out), v.Partitions
}

// results reads the files that dev and simulate write alike.
func results(t *testing.T, dir string) *published.Results {
	t.Helper()
	return &published.Results{Bills: lineValues[schemas.Bill](t, dir, simulation.BillsFile), Windows: lineValues[schemas.Window](t, dir, simulation.WindowsFile),
		Alerts: lineValues[schemas.Alert](t, dir, simulation.AlertsFile)}
}

func lineValues[T any](t *testing.T, dir, name string) (all []T) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	for d := json.NewDecoder(bytes.NewReader(text)); ; {
		var x T
		if err := d.Decode(&x); err == io.EOF {
			return all
		} else if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all = append(all, x)
	}
}

func same(t *testing.T, wanted, got *published.Results) {
	t.Helper()
	if r := chaos.Compare(wanted, got); !r.OK() {
		t.Errorf("duplicated=%d missing=%d differing=%d", r.Duplicated, r.Missing, r.Differing)
		for _, f := range r.Findings {
			t.Log(f)
		}
	}
}

// inputEnds are the offsets of the input topics of each partition, together.
func inputEnds(t *testing.T, o Options) map[string]int64 {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(open(t, o).Brokers()...))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	listed, err := kadm.NewClient(client).ListEndOffsets(t.Context(), schemas.TopicTelemetry, schemas.TopicRides, schemas.TopicPayments)
	if err == nil {
		err = listed.Error()
	}
	if err != nil {
		t.Fatal(err)
	}
	ends := make(map[string]int64)
	listed.Each(func(e kadm.ListedOffset) { ends[strconv.Itoa(int(e.Partition))] += e.Offset })
	return ends
}
