package recordings

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"taximeter/schemas"
	"taximeter/schemas/edge"
)

// A small recording with everything that is odd in the real ones.
func TestConvertWritesTheFilesOrder(t *testing.T) {
	at := inFolder(t, map[string]string{
		"points.csv": strings.Join([]string{
			"trip_id,vehicle_id,ts,lat,lon",
			"7,1,100,0,0",        // no fix before the first position
			"7,1,120,53.5,-2.5",  // the trip's earliest comes later in the file
			"8,1,90,53.1,-2.1",   //
			"7,1,110,53.4,-2.4",  // out of order
			"7,1,110,53.40,-2.4", // the same, written differently
			"7,1,130,53.6,0",     //
			"7,1,140,-0,0",       // no fix either
			"9,1,150,0,0",        // a trip without a fix at all
		}, "\n"),
	})
	var out bytes.Buffer
	sum, err := Convert(t.Context(), "liverpool", []string{at("points.csv")}, &out)
	if err != nil {
		t.Fatal(err)
	}
	if want := (Summary{Trips: 3, Points: 8, Repeated: 1, NoFix: 3, Rides: 4, First: 90_000, Last: 150_000}); sum != want {
		t.Errorf("summary %+v, want %+v", sum, want)
	}
	want := `INICIO 1-7 @110 regiao=liverpool categoria=onibus 53.4
point 1-7 @100 0
point 1-7 @120 53.5
INICIO 1-8 @90 regiao=liverpool categoria=onibus 53.1
point 1-8 @90 53.1
TERMINO 1-8 @90 regiao=liverpool categoria=onibus 53.1
point 1-7 @110 53.4
point 1-7 @110 53.4
point 1-7 @130 53.6
point 1-7 @140 0
TERMINO 1-7 @130 regiao=liverpool categoria=onibus 53.6
point 1-9 @150 0
`
	again := bytes.NewBuffer(nil)
	if _, err := Convert(t.Context(), "liverpool", []string{at("points.csv")}, again); err != nil || !bytes.Equal(out.Bytes(), again.Bytes()) {
		t.Errorf("converting again gives something else (%v)", err)
	}
	if got := describe(t, &out); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func describe(t *testing.T, in io.Reader) string {
	t.Helper()
	var b strings.Builder
	lines := edge.NewReader("converted", in)
	for {
		l, err := lines.Next()
		if err == io.EOF {
			return b.String()
		}
		if err != nil {
			t.Fatal(err)
		}
		if p := l.Telemetry; p != nil {
			fmt.Fprintf(&b, "point %s @%d %v\n", p.TripID, p.At/schemas.Second, p.Lat)
			continue
		}
		r := l.Ride
		fmt.Fprintf(&b, "%s %s @%d regiao=%s categoria=%s", r.Kind, r.TripID, r.At/schemas.Second, *r.Region, *r.Category)
		if r.Lat != nil {
			fmt.Fprintf(&b, " %v", *r.Lat)
		}
		b.WriteByte('\n')
	}
}

func TestTripWithoutAPositionBeginsAndNothingElse(t *testing.T) {
	at := inFolder(t, map[string]string{
		"trips.csv":  "trip_id,taxi_id,start_ts,points\n1,5,100,1\n2,5,90,0\n3,6,500,0\n",
		"points.csv": "trip_id,taxi_id,ts,lat,lon\n1,5,100,41.1,-8.6\n",
	})
	var out bytes.Buffer
	sum, err := Convert(t.Context(), "porto", []string{at("points.csv"), at("trips.csv")}, &out)
	if err != nil || sum.Empty != 2 {
		t.Fatalf("%v: %+v", err, sum)
	}
	want := `INICIO 2 @90 regiao=porto categoria=taxi
INICIO 1 @100 regiao=porto categoria=taxi 41.1
point 1 @100 41.1
TERMINO 1 @100 regiao=porto categoria=taxi 41.1
INICIO 3 @500 regiao=porto categoria=taxi
`
	if got := describe(t, &out); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestFaultsNameThePlace(t *testing.T) {
	const head = "trip_id,taxi_id,ts,lat,lon\n"
	at := inFolder(t, map[string]string{
		"empty.csv":    "",
		"head.csv":     head,
		"other.csv":    "a,b\n1,2\n",
		"ts.csv":       head + "1,5,100,41,-8\n1,5,10:30,41,-8\n",
		"huge.csv":     head + "1,5,9223372036854775807,41,-8\n",
		"lat.csv":      head + "1,5,100,north,-8\n",
		"id.csv":       head + ",5,100,41,-8\n",
		"short.csv":    head + "1,5,100\n",
		"ok.csv":       head + "1,5,100,41,-8\n",
		"cut.csv.gz":   "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff",
		"trips.csv":    "trip_id,taxi_id,start_ts,points\n1,5,100,2\n",
		"notcount.csv": "trip_id,taxi_id,start_ts,points\n1,5,100,many\n",
	})
	for _, c := range []struct {
		format string
		inputs []string
		want   string
	}{
		{"paris", []string{"ok.csv"}, `no recording format "paris"; known are porto, liverpool, envirocar`},
		{"porto", nil, "no recording given"},
		{"porto", []string{"absent.csv"}, "absent.csv: no such file"},
		{"porto", []string{"empty.csv"}, "empty.csv: no header row"},
		{"porto", []string{"head.csv"}, "no positions in"},
		{"porto", []string{"trips.csv"}, "needs a file with the columns ts, lat, lon, taxi_id, trip_id"},
		{"porto", []string{"other.csv"}, "other.csv: not positions of a porto recording: no column ts, lat, lon, taxi_id, trip_id; its columns are a, b"},
		{"liverpool", []string{"ok.csv"}, "no column vehicle_id"},
		{"porto", []string{"ts.csv"}, `ts.csv: row 3: ts: want whole Unix seconds, have "10:30"`},
		{"porto", []string{"huge.csv"}, "huge.csv: row 2: ts: want whole Unix seconds"},
		{"porto", []string{"lat.csv"}, `lat.csv: row 2: lat: want degrees, have "north"`},
		{"porto", []string{"id.csv"}, `id.csv: row 2: trip_id: want an id, have ""`},
		{"porto", []string{"short.csv"}, "short.csv: row 2: record on line 2: wrong number of fields"},
		{"porto", []string{"cut.csv.gz"}, "cut.csv.gz: no header row: unexpected EOF"},
		{"porto", []string{"ok.csv", "trips.csv"}, "trips.csv: row 2: trip 1 should have 2 positions, the recording has 1"},
		{"porto", []string{"ok.csv", "notcount.csv"}, `notcount.csv: row 2: points: want a count, have "many"`},
	} {
		inputs := make([]string, len(c.inputs))
		for i, name := range c.inputs {
			inputs[i] = at(name)
		}
		var out bytes.Buffer
		if _, err := Convert(t.Context(), c.format, inputs, &out); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %v: %v\nwant ... %s", c.format, c.inputs, err, c.want)
		}
		if out.Len() > 0 {
			t.Errorf("%s %v: wrote %q", c.format, c.inputs, out.String())
		}
	}
}
