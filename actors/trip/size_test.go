package trip_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"taximeter/actors/trip"
	"taximeter/schemas"
)

// What a seal writes of a trip follows what changed: its newest points and a head, not the trip.
func TestWhatASealWritesOfATripIsBounded(t *testing.T) {
	env := newEnv(t)
	s := trip.New("298817aa-1441-4386-a161-6402b9aa41e8")
	const points, perSeal = 240, 3 // forty minutes of driving, a point every 10 s, a seal every 30 s
	parts := make(map[int][]byte)
	written, largest := 0, 0
	for i := range points {
		at := t0 + schemas.Millis(i)*10*schemas.Second
		e := &schemas.Event{Topic: schemas.Telemetry, Kind: schemas.Position, Has: schemas.HasPosition, At: at,
			EventID: schemas.EventID(fmt.Sprintf("4e9cd96b-c85b-50b7-8157-c57f2fb0%04x", i)),
			LatLon:  schemas.LatLon{Lat: -23.5505 + 0.000613*float64(i%97), Lon: -46.6333 + 0.000417*float64(i%89)}}
		env.Watermark = at - 2*schemas.Minute
		if s.Misses(e) {
			recall(t, s, parts)
		}
		s.Take(env, e)
		s.Advance(env)
		if i%perSeal == perSeal-1 {
			head, part := len(s.AppendHead(nil)), len(writePoints(s, parts))
			written, largest = written+head+part, max(largest, head+part)
			s.Settle()
		}
	}
	if len(parts) > trip.MaxParts {
		t.Errorf("%d parts, want at most %d", len(parts), trip.MaxParts)
	}
	held := len(s.AppendHead(nil))
	for _, p := range parts {
		held += len(p)
	}
	t.Logf("%d points: %.1f B each in %d parts and a head; %d seals wrote %d B each, %d at most", points, float64(held)/points, len(parts),
		points/perSeal, written*perSeal/points, largest)
	if perPoint := float64(held) / points; perPoint > 40 {
		t.Errorf("%.1f bytes a remembered point, want 40 or fewer", perPoint)
	}
	if mean := written * perSeal / points; mean > 500 {
		t.Errorf("a seal wrote %d bytes of one trip in which three points came", mean)
	}
}

// writePoints does what a seal does with the points.
func writePoints(s *trip.State, parts map[int][]byte) []byte {
	part, b := s.AppendPoints(nil)
	parts[part] = b
	for i := s.Parts(); parts[i] != nil; i++ {
		delete(parts, i)
	}
	return b
}

func recall(t rapid.TB, s *trip.State, parts map[int][]byte) {
	t.Helper()
	needed := make([][]byte, s.ToRecall())
	for i := range needed {
		needed[i] = parts[i]
	}
	if err := s.Recall(needed...); err != nil {
		t.Fatal(err)
	}
}
