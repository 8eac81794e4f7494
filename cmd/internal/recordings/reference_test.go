package recordings

import (
	"bytes"
	"cmp"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"taximeter/internal/shared"
	"taximeter/schemas"
	"taximeter/schemas/edge"
)

// What the converted lines say, measured by the rules of the reference program (zeros out,
// exact duplicates out, rows by time), must be what that program said of the recording.
func TestConvertedRecordingsMatchTheReference(t *testing.T) {
	for _, c := range []struct {
		format, reference string
		inputs            []string
		keys              int
		want              Summary // trips counts what has a position
		km                float64
	}{
		{"porto", "data/ref_porto_trips.csv.gz", []string{"data/porto_trips.csv.gz", "data/porto_points.csv.gz"}, 1,
			Summary{Trips: 999, Empty: 1, Points: 47304, Rides: 2*998 + 1, First: 1372636853000, Last: 1372670440000}, 6714.188866},
		{"porto", "data/ref_porto_trips.csv.gz", []string{"data/porto_points.csv.gz"}, 1,
			Summary{Trips: 998, Points: 47304, Rides: 2 * 998, First: 1372636853000, Last: 1372670440000}, 6714.188866},
		{"liverpool", "data/ref_liverpool_trips.csv.gz", []string{"data/liverpool_bus_arrival_order.csv.gz"}, 2,
			Summary{Trips: 16, Points: 1533, Rides: 32}, 108.084845},
		{"envirocar", "data/ref_envirocar_trips.csv.gz", []string{"data/envirocar_points.csv.gz"}, 1,
			Summary{Trips: 6, Points: 4124, Repeated: 1311, Rides: 12}, 306.901220},
	} {
		t.Run(c.format+" from "+strconv.Itoa(len(c.inputs)), func(t *testing.T) {
			inputs := make([]string, len(c.inputs))
			for i, name := range c.inputs {
				inputs[i] = shared.Path(t, name)
			}
			reference := readReference(t, c.reference, c.keys)
			var out bytes.Buffer
			sum, err := Convert(t.Context(), c.format, inputs, &out)
			if err != nil {
				t.Fatal(err)
			}
			if c.want.First == 0 {
				c.want.First, c.want.Last = sum.First, sum.Last
			}
			if sum != c.want {
				t.Errorf("summary %+v\nwant    %+v", sum, c.want)
			}
			trips := readBack(t, &out)
			total := 0.0
			for id, want := range reference {
				got, ok := trips[id]
				if !ok {
					t.Errorf("trip %s is missing", id)
					continue
				}
				points, km := got.measure()
				total += km
				if points != want.points || math.Abs(km-want.km) > 1e-6 || got.start != want.first || got.end != want.last {
					t.Errorf("trip %s: %d points, %.9f km, [%v, %v]; reference %+v", id, points, km, got.start, got.end, want)
				}
			}
			if math.Abs(total-c.km) > 1e-6 {
				t.Errorf("%.6f km in all, want %.6f", total, c.km)
			}
			if len(trips) != len(reference)+sum.Empty {
				t.Errorf("%d trips written, reference has %d", len(trips), len(reference))
			}
		})
	}
}

type referenceTrip struct {
	points      int
	first, last schemas.Millis
	km          float64
}

func readReference(t *testing.T, name string, keys int) map[schemas.TripID]referenceTrip {
	t.Helper()
	trips := map[schemas.TripID]referenceTrip{}
	for _, r := range shared.Table(t, name)[1:] {
		var n [3]int64
		for i := range n {
			var err error
			if n[i], err = strconv.ParseInt(r[keys+i], 10, 64); err != nil {
				t.Fatal(err)
			}
		}
		km, err := strconv.ParseFloat(r[keys+4], 64)
		if err != nil {
			t.Fatal(err)
		}
		trips[schemas.TripID(strings.Join(r[:keys], "-"))] = referenceTrip{int(n[0]), schemas.Millis(n[1]) * 1000, schemas.Millis(n[2]) * 1000, km}
	}
	return trips
}

// readTrip is what the lines say of one trip.
type readTrip struct {
	start, end schemas.Millis
	ended      bool
	points     []*schemas.TelemetryRecord
}

// readBack also checks the order: a start before the first position, an end after the last.
func readBack(t *testing.T, in io.Reader) map[schemas.TripID]*readTrip {
	t.Helper()
	trips := map[schemas.TripID]*readTrip{}
	seen := map[schemas.EventID]bool{}
	lines := edge.NewReader("converted", in)
	for {
		l, err := lines.Next()
		if err == io.EOF {
			return trips
		}
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case l.Fault != schemas.Counted:
			t.Fatalf("line %d: %v %s", l.Number, l.Fault, l.Detail)
		case l.Telemetry != nil:
			trip := trips[l.Telemetry.TripID]
			switch {
			case trip == nil:
				if l.Telemetry.Lat != 0 || l.Telemetry.Lon != 0 {
					t.Fatalf("line %d: a position before its trip began", l.Number)
				}
			case trip.ended:
				t.Fatalf("line %d: a position after its trip ended", l.Number)
			case !seen[l.Telemetry.EventID]:
				seen[l.Telemetry.EventID] = true
				trip.points = append(trip.points, l.Telemetry)
			}
		case l.Ride.Kind == schemas.RideStart.String():
			trips[l.Ride.TripID] = &readTrip{start: l.Ride.At}
		case l.Ride.Kind == schemas.RideEnd.String():
			trips[l.Ride.TripID].end, trips[l.Ride.TripID].ended = l.Ride.At, true
		}
	}
}

func (r *readTrip) measure() (points int, km float64) {
	slices.SortStableFunc(r.points, func(a, b *schemas.TelemetryRecord) int { return cmp.Compare(a.At, b.At) })
	for i, p := range r.points {
		if i > 0 {
			km += haversineKm(r.points[i-1], p)
		}
	}
	return len(r.points), km
}

// haversineKm is the reference's formula, not the meter's code.
func haversineKm(a, b *schemas.TelemetryRecord) float64 {
	rad := math.Pi / 180
	s1 := math.Sin((b.Lat - a.Lat) * rad / 2)
	s2 := math.Sin((b.Lon - a.Lon) * rad / 2)
	h := s1*s1 + math.Cos(a.Lat*rad)*math.Cos(b.Lat*rad)*s2*s2
	return 2 * 6371.0088 * math.Asin(min(1, math.Sqrt(h)))
}

func inFolder(t *testing.T, files map[string]string) func(name string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return func(name string) string { return filepath.Join(dir, name) }
}
