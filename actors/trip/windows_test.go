package trip_test

import (
	"math"
	"testing"

	"taximeter/actors/trip"
	"taximeter/schemas"
)

// Event files may lack append times, and then nothing keeps an instant from being the last
// that 64 bits can express: its window has no end.
func TestTheLastWindowOfAllHasNoEnd(t *testing.T) {
	const last = schemas.Millis(math.MaxInt64)
	for name, arrival := range map[string][]schemas.Millis{
		"the last instant first": {last, t0, last - 1},
		"the last instant last":  {t0, last - 1, last},
	} {
		env, s := newEnv(t), trip.New("c")
		for i, at := range arrival {
			e := positionAt(i, at)
			e.LatLon = positionAt(0, at).LatLon
			s.Take(env, e)
		}
		env.Watermark = t0 + 10*schemas.Minute
		s.Advance(env) // the first window is closed
		if due := s.Due(); due == schemas.EndOfTime {
			t.Errorf("%s: nothing wakes the trip", name)
		}
		env.Watermark = schemas.EndOfTime
		s.Advance(env)
		windows := env.Out.Windows
		if len(windows) != 2 {
			t.Fatalf("%s: %d windows, want 2: %+v", name, len(windows), windows)
		}
		if w := windows[1]; w.Points != 2 || *w.First != last-1 || *w.Last != last || w.TimeMS != int64(last-t0) {
			t.Errorf("%s: the last window is %+v", name, w)
		}
	}
}
