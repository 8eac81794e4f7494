package geo

import (
	"encoding/binary"
	"hash/fnv"
	"math"
	"testing"

	"taximeter/schemas"
)

// bits are what every processor must find; metres were worked out by another
// implementation (Python, whose sine differs in the last bit).
var golden = []struct {
	lat1, lon1, lat2, lon2 float64
	bits                   uint64
	metres                 float64
}{
	{0, 0.1, 0, 0.1, 0, 0.0},
	{41.141412, -8.618643, 41.141376, -8.618499, 0x402969434a219c1b, 12.705591503718145},
	{41.140746, -8.610291, 41.151951, -8.574678, 0x40a93fa4f3dad0da, 3231.822172964091},
	{-23.55052, -46.633308, -22.906847, -43.172896, 0x411604b75eb40b69, 360749.84248369053},
	{53.4084, -2.9916, 53.4084, -2.99161, 0x3fe5360019fa4f51, 0.6628418452623723},
	{53.4084, -2.9916, 53.40841, -2.9916, 0x3ff1ca8cecb7274e, 1.111950802488042},
	{0, 0, 0, 180, 0x41731680a7129443, 20015114.442035925},
	{90, 0, -90, 0, 0x41731680a7129443, 20015114.442035925},
	{89.9999, 10, 89.9999, -170, 0x40363d3027dc2427, 22.23901604771176},
	{0, 179.9999, 0, -179.9999, 0x40363d3027d3572c, 22.239016045662694},
	{10, -180, 10, 180, 0x3e1a66a7e221b44e, 1.536740408993244e-09},
	{-33.8688, 151.2093, 51.5074, -0.1278, 0x417034ea4eecd108, 16993956.93281654},
	{40.7128, -74.006, 34.0522, -118.2437, 0x414e0703d86f36d1, 3935751.6908939867},
	{1e-07, 0, 0, 1e-07, 0x3f901a4efb694a81, 0.015725359053542668},
	{51.5, 7.5, 51.50001, 7.50001, 0x3ff4f4f3b02b7214, 1.3098027116421962},
	{60.1699, 24.9384, 59.437, 24.7536, 0x40f40e38e2f03ab2, 82147.55540488174},
	{-0.5, -0.5, 0.5, 0.5, 0x41033224bd901657, 157252.59255998087},
	{35.6895, 139.6917, -34.6037, -58.3816, 0x417184cd3e1dded9, 18369747.882292602},
	{45, -120, -45, 60, 0x41731680a7129443, 20015114.442035925},
	{-54.8019, -68.303, 78.2232, 15.6267, 0x416e1b58e79ddbcd, 15784647.23801985},
}

func TestHaversineBitsAreTheSameEverywhere(t *testing.T) {
	for _, g := range golden {
		got := Haversine(schemas.LatLon{Lat: g.lat1, Lon: g.lon1}, schemas.LatLon{Lat: g.lat2, Lon: g.lon2})
		if bits := math.Float64bits(got); bits != g.bits {
			t.Errorf("(%v,%v)-(%v,%v): bits %#x (%v m), want %#x", g.lat1, g.lon1, g.lat2, g.lon2, bits, got, g.bits)
		}
		if math.Abs(got-g.metres) > 1e-9+1e-12*g.metres {
			t.Errorf("(%v,%v)-(%v,%v): %v m, want %v", g.lat1, g.lon1, g.lat2, g.lon2, got, g.metres)
		}
	}
}

// One fused instruction anywhere changes the last bit of some of these 200,000 results,
// half of them within a city, half anywhere.
func TestDigestOfManyDistances(t *testing.T) {
	next := splitMix(1)
	digest := fnv.New64a()
	var b [8]byte
	for i := range 200_000 {
		p := schemas.LatLon{Lat: float64(next()*180) - 90, Lon: float64(next()*360) - 180}
		q := schemas.LatLon{Lat: float64(next()*180) - 90, Lon: float64(next()*360) - 180}
		if i%2 == 0 {
			q = schemas.LatLon{Lat: float64(p.Lat*0.999) + float64(next()*0.01), Lon: float64(p.Lon*0.999) + float64(next()*0.01)}
		}
		path := []schemas.LatLon{q, {Lat: p.Lat + next() - 0.5, Lon: p.Lon + next() - 0.5}, q}
		for _, metres := range []float64{Haversine(p, q), DistanceToPath(p, path, 0)} {
			binary.LittleEndian.PutUint64(b[:], math.Float64bits(metres))
			digest.Write(b[:])
		}
	}
	if got := digest.Sum64(); got != 0xd48313f161d80fcc {
		t.Errorf("digest %#x", got)
	}
}

// splitMix gives the same numbers in [0, 1) on every processor.
func splitMix(state uint64) func() float64 {
	return func() float64 {
		state += 0x9e3779b97f4a7c15
		z := state
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		return float64((z^z>>31)>>11) / (1 << 53)
	}
}

// The arcsine may differ most close to 1, where the rounding of 1-x*x weighs most.
func TestTrigonometryAgreesWithMath(t *testing.T) {
	for i := range 200_001 {
		u := float64(i) / 200_000
		x := (u - 0.5) * 4 * math.Pi
		for _, c := range []struct {
			name      string
			arg       float64
			got, want float64
			tolerance float64
		}{
			{"sin", x, sin(x), math.Sin(x), 1e-15},
			{"cos", x, cos(x), math.Cos(x), 1e-15},
			{"asin", u, asin(u), math.Asin(u), 1e-13},
		} {
			if math.Abs(c.got-c.want) > c.tolerance*max(math.Abs(c.want), 0.1) {
				t.Fatalf("%s(%v) = %v, want %v", c.name, c.arg, c.got, c.want)
			}
		}
	}
}

func TestDistanceToPath(t *testing.T) {
	square := []schemas.LatLon{{Lat: 0, Lon: 0}, {Lat: 0, Lon: 0.01}, {Lat: 0.01, Lon: 0.01}}
	const degree = EarthRadiusM * math.Pi / 180
	for _, c := range []struct {
		name   string
		p      schemas.LatLon
		path   []schemas.LatLon
		metres float64
	}{
		{"on a vertex", schemas.LatLon{Lat: 0, Lon: 0.01}, square, 0},
		{"beside the middle of a segment, far from its ends", schemas.LatLon{Lat: -0.001, Lon: 0.005}, square, 0.001 * degree},
		{"before the first vertex", schemas.LatLon{Lat: 0, Lon: -0.003}, square, 0.003 * degree},
		{"past the last vertex", schemas.LatLon{Lat: 0.013, Lon: 0.01}, square, 0.003 * degree},
		{"path of one position", schemas.LatLon{Lat: 0.002, Lon: 0}, square[:1], 0.002 * degree},
		{"the same position twice", schemas.LatLon{Lat: 0.002, Lon: 0}, []schemas.LatLon{{}, {}}, 0.002 * degree},
		{"a degree of longitude is half as long at 60 degrees", schemas.LatLon{Lat: 60, Lon: 10.002},
			[]schemas.LatLon{{Lat: 59, Lon: 10}, {Lat: 61, Lon: 10}}, 0.001 * degree},
		{"across the date line", schemas.LatLon{Lat: 0, Lon: 179.999},
			[]schemas.LatLon{{Lat: -1, Lon: -179.999}, {Lat: 1, Lon: -179.999}}, 0.002 * degree},
		{"no path", schemas.LatLon{Lat: 1, Lon: 1}, nil, math.Inf(1)},
	} {
		if got := DistanceToPath(c.p, c.path, 0); got != c.metres && math.Abs(got-c.metres) > 1e-3 {
			t.Errorf("%s: %v m, want %v", c.name, got, c.metres)
		}
		for _, enough := range []float64{1, 100, 200} {
			if got := DistanceToPath(c.p, c.path, enough); (got > enough) != (c.metres > enough) {
				t.Errorf("%s: %v m where %v are enough, want %v", c.name, got, enough, c.metres)
			}
		}
	}
}

func BenchmarkHaversine(b *testing.B) {
	p, q := schemas.LatLon{Lat: 41.141412, Lon: -8.618643}, schemas.LatLon{Lat: 41.151951, Lon: -8.574678}
	for b.Loop() {
		p.Lat += 1e-9
		Haversine(p, q)
	}
}

func BenchmarkDistanceToPath100(b *testing.B) {
	path := make([]schemas.LatLon, 100)
	for i := range path {
		path[i] = schemas.LatLon{Lat: 41 + float64(i)*1e-3, Lon: -8.6 + float64(i%7)*1e-3}
	}
	for b.Loop() {
		DistanceToPath(schemas.LatLon{Lat: 41.05, Lon: -8.61}, path, 0)
	}
}
