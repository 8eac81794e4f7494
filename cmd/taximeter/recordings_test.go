package main

import (
	"bufio"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"taximeter/internal/shared"
	"taximeter/schemas"
)

const openTariff = `[{"tarifaId":"t","regiao":"*","categoria":"*","vigenteDesde":0,"moeda":"EUR",
  "bandeirada":"2.50","precoKm":"0.80","precoMin":"0.20","minimo":"4.00","taxaCancelamento":"3.00","carenciaS":120}]`

// Real trips, by convert and simulate without the filter, against results worked out by a
// program that shares nothing with this one.
func TestRealTripsMatchTheReference(t *testing.T) {
	for _, c := range []struct {
		format  string
		inputs  []string
		keys    int // columns of the reference that make a tripId
		windows int
		meters  float64
	}{
		{"porto", []string{"data/porto_trips.csv.gz", "data/porto_points.csv.gz"}, 1, 3296, 6_714_188.866},
		{"liverpool", []string{"data/liverpool_bus_arrival_order.csv.gz"}, 2, 126, 108_084.845},
		{"envirocar", []string{"data/envirocar_points.csv.gz"}, 1, 59, 306_901.220},
	} {
		t.Run(c.format, func(t *testing.T) {
			args := []string{"convert", c.format}
			for _, name := range c.inputs {
				args = append(args, shared.Path(t, name))
			}
			trips := readReference(t, "data/ref_"+c.format+"_trips.csv.gz", c.keys)
			windows := readReference(t, "data/ref_"+c.format+"_win5m.csv.gz", c.keys)
			dir := t.TempDir()
			lines, tariffs, out := filepath.Join(dir, "events.jsonl.gz"), filepath.Join(dir, "tariffs.json"), filepath.Join(dir, "out")
			if err := os.WriteFile(tariffs, []byte(openTariff), 0o666); err != nil {
				t.Fatal(err)
			}
			mustTaxi(t, append(args, "-o", lines)...)
			mustTaxi(t, "simulate", "--events", lines, "--tariffs", tariffs, "--max-speed-kmh", "0", "--out", out)

			total := int64(0)
			measured := map[schemas.TripID]bool{}
			got := lastOf(t, filepath.Join(out, "windows.jsonl"), func(w *schemas.Window) string {
				return string(w.TripID) + "/" + strconv.FormatInt(int64(w.Start/schemas.Second), 10)
			})
			for key, w := range got {
				want, ok := windows[key]
				if !ok || w.Points != want.points || off(w.DistanceMM, want.km, want.points) {
					t.Errorf("window %s: %d points, %d mm; reference %+v", key, w.Points, w.DistanceMM, want)
				}
				total += w.DistanceMM
				measured[w.TripID] = true
			}
			if len(got) != c.windows || len(windows) != c.windows || len(measured) != len(trips) {
				t.Errorf("%d windows of %d trips, want %d of %d", len(got), len(measured), c.windows, len(trips))
			}
			if math.Abs(float64(total)/1000-c.meters) > 30 {
				t.Errorf("%d mm in all, want %.3f m", total, c.meters)
			}
			bills := lastOf(t, filepath.Join(out, "bills.jsonl"), func(b *schemas.Bill) string { return string(b.TripID) + "/" })
			for key, b := range bills {
				want, ok := trips[key]
				if !ok || b.Points != want.points || off(b.DistanceMM, want.km, want.points) || b.DurationS != want.seconds || b.Amount != priced(b) {
					t.Errorf("bill %s: %d points, %d mm, %d s, %s; reference %+v", key, b.Points, b.DistanceMM, b.DurationS, b.Amount, want)
				}
			}
			if len(bills) != len(trips) {
				t.Errorf("%d bills, want %d", len(bills), len(trips))
			}
		})
	}
}

// off reports whether a distance is more than 1 mm a segment away.
func off(mm int64, km float64, points int) bool {
	return math.Abs(float64(mm)-km*1e6) > float64(points)
}

// priced is openTariff's price in whole numbers: 0.08 cents a metre and 1/3 of a cent a
// second, over a common denominator.
func priced(b *schemas.Bill) schemas.Cents {
	const whole = 150_000 // of a cent
	sum := 250*whole + b.DistanceMM*12 + b.DurationS*whole/3
	cents, rest := sum/whole, sum%whole
	if rest > whole/2 || rest == whole/2 && cents%2 == 1 {
		cents++
	}
	return schemas.Cents(max(cents, 400))
}

func mustTaxi(t *testing.T, args ...string) {
	t.Helper()
	if text := taximeter(t, args...); !strings.HasSuffix(text, "exit 0\n") {
		t.Fatalf("%v:\n%s", args, text)
	}
}

// lastOf is the last line of each key of a file of results.
func lastOf[T any](t *testing.T, path string, key func(*T) string) map[string]*T {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	last := map[string]*T{}
	lines := json.NewDecoder(bufio.NewReader(f))
	for lines.More() {
		v := new(T)
		if err := lines.Decode(v); err != nil {
			t.Fatal(err)
		}
		last[key(v)] = v
	}
	return last
}

type reference struct {
	points  int
	km      float64
	seconds int64 // trips only
}

// readReference reads trips (key "trip/") or windows (key "trip/start").
func readReference(t *testing.T, name string, keys int) map[string]reference {
	t.Helper()
	rows := shared.Table(t, name)
	column := map[string]int{}
	for i, name := range rows[0] {
		column[name] = i
	}
	all := map[string]reference{}
	for _, row := range rows[1:] {
		number := func(name string) float64 {
			v, err := strconv.ParseFloat(row[column[name]], 64)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		key := strings.Join(row[:keys], "-") + "/"
		r := reference{points: int(number("points")), km: number("distance_km")}
		if _, ok := column["window_start"]; ok {
			key += row[column["window_start"]]
		} else {
			r.seconds = int64(number("duration_s"))
		}
		all[key] = r
	}
	return all
}
