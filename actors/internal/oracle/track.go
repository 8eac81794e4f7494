package oracle

import (
	"math"

	"taximeter/schemas"
)

// step is one effective point and what the filter made of it.
type step struct {
	at       schemas.Millis
	accepted bool
	segment  bool // it ends a segment; a first point or an anchor does not
	from     schemas.Millis
	mm       int64
	kmh      float64
}

// walk runs the track filter over points in order.
func walk(points []schemas.Event, maxKmh float64) []step {
	var steps []step
	var last schemas.Event
	refused := 0
	for i, p := range points {
		s := step{at: p.At}
		switch {
		case i == 0:
			s.accepted = true
		case p.At == last.At:
		default:
			metres := haversine(last.LatLon, p.LatLon)
			s.kmh = metres / (float64(p.At-last.At) / 1000) * 3.6
			if maxKmh > 0 && s.kmh > maxKmh {
				refused++
				s.accepted = refused == 3
			} else {
				s.accepted, s.segment = true, true
				s.from, s.mm = last.At, int64(math.Round(metres*1000))
			}
		}
		if s.accepted {
			last, refused = p, 0
		}
		steps = append(steps, s)
	}
	return steps
}

// haversine is the textbook's, by package math.
func haversine(a, b schemas.LatLon) float64 {
	rad := func(deg float64) float64 { return deg * math.Pi / 180 }
	sq := func(x float64) float64 { return x * x }
	h := sq(math.Sin(rad(b.Lat-a.Lat)/2)) + math.Cos(rad(a.Lat))*math.Cos(rad(b.Lat))*sq(math.Sin(rad(b.Lon-a.Lon)/2))
	return 2 * 6_371_008.8 * math.Asin(math.Min(1, math.Sqrt(h)))
}

// Window is the content of one five-minute window.
type Window struct {
	Points, Rejected int
	Segments         int // what distances by another haversine may differ by, in mm
	DistanceMM       int64
	TimeMS           int64
	MaxKmh, MeanKmh  float64        // 0 without segments
	First, Last      schemas.Millis // NoTime without accepted points
}

func windowsOf(track []step) map[schemas.Millis]Window {
	out := make(map[schemas.Millis]Window)
	for _, s := range track {
		start := s.at - s.at%window
		w, ok := out[start]
		if !ok {
			w.First, w.Last = schemas.NoTime, schemas.NoTime
		}
		if !s.accepted {
			w.Rejected++
			out[start] = w
			continue
		}
		if w.Points++; w.Points == 1 {
			w.First = s.at
		}
		w.Last = s.at
		if s.segment {
			w.Segments++
			w.DistanceMM += s.mm
			w.TimeMS += int64(s.at - s.from)
			w.MaxKmh = math.Max(w.MaxKmh, s.kmh)
			w.MeanKmh = float64(w.DistanceMM) / float64(w.TimeMS) * 3.6
		}
		out[start] = w
	}
	return out
}
