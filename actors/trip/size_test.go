package trip_test

import (
	"fmt"
	"testing"

	"taximeter/actors/trip"
	"taximeter/schemas"
)

// What a seal writes of a trip follows what changed: three points and a head, not the trip.
func TestWhatASealWritesOfATripIsBounded(t *testing.T) {
	env := newEnv(t)
	s := trip.New("298817aa-1441-4386-a161-6402b9aa41e8")
	const points, perSeal = 240, 3 // forty minutes of driving, a point every 10 s, a seal every 30 s
	var heads, parts, largest int
	for i := range points {
		at := t0 + schemas.Millis(i)*10*schemas.Second
		env.Watermark = at - 2*schemas.Minute
		s.Take(env, &schemas.Event{Topic: schemas.Telemetry, Kind: schemas.Position, Has: schemas.HasPosition, At: at,
			EventID: schemas.EventID(fmt.Sprintf("4e9cd96b-c85b-50b7-8157-c57f2fb0%04x", i)),
			LatLon:  schemas.LatLon{Lat: -23.5505 + 0.000613*float64(i%97), Lon: -46.6333 + 0.000417*float64(i%89)}})
		s.Advance(env)
		if i%perSeal == perSeal-1 {
			head, part := len(s.AppendHead(nil)), len(s.AppendNewPoints(nil))
			heads, parts, largest = heads+head, parts+part, max(largest, head+part)
		}
	}
	whole := len(s.AppendAllPoints(nil)) + len(s.AppendHead(nil))
	t.Logf("%d points: %d B as a whole, %.1f B a point in parts; the largest of %d seals wrote %d B", points, whole, float64(parts)/points, points/perSeal, largest)
	if perPoint := float64(parts) / points; perPoint > 40 {
		t.Errorf("%.1f bytes a remembered point, want 40 or fewer", perPoint)
	}
	if largest > 400 {
		t.Errorf("a seal wrote %d bytes of one trip in which three points came", largest)
	}
}
