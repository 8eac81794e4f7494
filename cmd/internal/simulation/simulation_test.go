package simulation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"taximeter/schemas"
	"taximeter/schemas/edge"
)

// day is event lines of some trips, interleaved, with late and repeated ones.
func day(t testing.TB, seed uint64, trips int) []string {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 1))
	type timed struct {
		at   schemas.Millis
		text string
	}
	var all []timed
	add := func(at schemas.Millis, l edge.Line) {
		l.AppendedAt = schemas.NoTime
		text, err := edge.AppendLine(nil, &l)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, timed{at + schemas.Millis(random.IntN(200_000)), string(text)}) // arrives up to 200 s late
		if random.IntN(20) == 0 {
			all = append(all, timed{at + 300_000, string(text)})
		}
	}
	for n := range trips {
		id := schemas.TripID(fmt.Sprintf("trip-%d", n))
		at := schemas.Millis(1_764_000_000_000 + random.Int64N(3_600_000))
		ride := func(kind schemas.Kind) {
			region := "centro"
			add(at, edge.Line{Topic: schemas.Rides, Ride: &schemas.RideRecord{EventID: schemas.EventID(kind.String()), TripID: id, At: at, Kind: kind.String(), Region: &region}})
		}
		ride(schemas.RideStart)
		lat := 41 + random.Float64()
		for p := range 1 + random.IntN(60) {
			at += 15_000
			lat += random.Float64() / 1000
			add(at, edge.Line{Topic: schemas.Telemetry, Telemetry: &schemas.TelemetryRecord{EventID: schemas.EventID(fmt.Sprint(p)), TripID: id, At: at, Lat: lat, Lon: -8.6}})
		}
		ride(schemas.RideEnd)
	}
	slices.SortStableFunc(all, func(a, b timed) int { return int(a.at - b.at) })
	lines := make([]string, len(all))
	for i := range all {
		lines[i] = all[i].text
	}
	return lines
}

func write(t *testing.T, lines []string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "events.jsonl")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

func options(t *testing.T, files ...string) Options {
	return Options{Events: files, Partitions: 24, MaxSpeedKmh: 160, Out: filepath.Join(t.TempDir(), "out"),
		Tariffs: []schemas.Tariff{{TariffID: "t", Region: schemas.Any, Category: schemas.Any, Currency: "BRL", PerKm: 1_500_000, Base: 3_000_000}}}
}

func mustRun(t *testing.T, o Options) Summary {
	t.Helper()
	s, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var outputs = []string{BillsFile, WindowsFile, AlertsFile, DeadLettersFile, VerdictsFile}

func TestSameInputSameBytes(t *testing.T) {
	lines := day(t, 1, 60)
	whole := options(t, write(t, lines))
	again := options(t, whole.Events[0])
	half := len(lines) / 2
	split := options(t, write(t, lines[:half]), write(t, lines[half:]))
	sum := mustRun(t, whole)
	if sum.Trips != 60 || sum.Bills != 60 || sum.Records != int64(len(lines)) || sum.Verdicts["duplicado"] == 0 || sum.Verdicts["atrasado"] == 0 {
		t.Fatalf("a poor day: %+v", sum)
	}
	mustRun(t, again)
	mustRun(t, split)
	for _, name := range outputs {
		want := read(t, whole, name)
		if !bytes.Equal(read(t, again, name), want) {
			t.Errorf("%s differs from run to run", name)
		}
		if !bytes.Equal(read(t, split, name), want) {
			t.Errorf("%s differs when the events are split in two files", name)
		}
	}
}

func read(t *testing.T, o Options, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(o.Out, name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Whatever ends a run early, nothing is there that could be taken for its results: neither half
// of them nor those of an earlier run.
func TestAFailedRunLeavesNothing(t *testing.T) {
	lines := day(t, 2, 60)
	good := write(t, lines)
	bad := write(t, append(slices.Clone(lines), `{"topic":`))
	fails := func(what string, change func(o *Options), want func(error) bool) {
		t.Helper()
		o := options(t, good)
		mustRun(t, o)
		if n := len(contents(t, o.Out)); n != len(outputs) {
			t.Fatalf("%d files of a good run", n)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		o.OnProgress = func(int64, int64) { cancel() } // unless changed
		change(&o)
		func() {
			defer func() { _ = recover() }() // a panic must clean up too
			if _, err := Run(ctx, o); !want(err) {
				t.Errorf("%s: %v", what, err)
			}
		}()
		if left := contents(t, o.Out); len(left) > 0 {
			t.Errorf("%s leaves %v", what, left)
		}
	}
	fails("a bad last line", func(o *Options) { o.Events, o.OnProgress = []string{good, bad}, nil },
		func(err error) bool {
			return err != nil && strings.Contains(err.Error(), fmt.Sprintf("%s:%d: not valid JSON", bad, len(lines)+1))
		})
	fails("an interrupted run", func(*Options) {}, func(err error) bool { return errors.Is(err, context.Canceled) })
	fails("a panic", func(o *Options) { o.OnProgress = func(int64, int64) { panic("broken") } }, func(error) bool { return false })
	fails("a file that is not there", func(o *Options) { o.Events = []string{good, bad + "x"} }, func(err error) bool { return err != nil })
}

func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name()] = string(b)
	}
	return all
}

// A trip's figures do not depend on which partition number it falls into.
func TestPartitionsDoNotChangeFinals(t *testing.T) {
	o := options(t, write(t, day(t, 3, 40)))
	one := o
	one.Partitions, one.Out = 1, filepath.Join(t.TempDir(), "out")
	a, b := mustRun(t, o), mustRun(t, one)
	if a.DistanceMM != b.DistanceMM || a.BilledMM != b.BilledMM || a.Windows != b.Windows || a.Amounts["BRL"] != b.Amounts["BRL"] || a.DistanceMM == 0 {
		t.Errorf("24 partitions: %+v\n 1 partition: %+v", a, b)
	}
}

func BenchmarkRun(b *testing.B) {
	lines := day(b, 4, 2000)
	path := filepath.Join(b.TempDir(), "events.jsonl")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o666); err != nil {
		b.Fatal(err)
	}
	o := Options{Events: []string{path}, Partitions: 24, MaxSpeedKmh: 160, Out: b.TempDir()}
	b.ResetTimer()
	for b.Loop() {
		if _, err := Run(b.Context(), o); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(lines)), "ns/event")
}
