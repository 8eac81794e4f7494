package geo

import (
	"math"

	"taximeter/schemas"
)

// DistanceToPath is the distance in metres from p to the nearest place on the path: its
// segments, not only its vertices. A path of one position is that position; an empty
// path is infinitely far. It stops looking once it is within enough, so a result of at
// most enough says only that; with 0 the result is always exact.
//
// It works on the plane tangent at p (equirectangular), which within 50 km of p and
// below 75 degrees of latitude errs by less than one part in a hundred.
func DistanceToPath(p schemas.LatLon, path []schemas.LatLon, enough float64) float64 {
	if len(path) == 0 {
		return math.Inf(1)
	}
	const metresPerDegree = float64(EarthRadiusM * radPerDeg)
	stop := float64(enough/metresPerDegree) * float64(enough/metresPerDegree)
	east := cos(float64(p.Lat * radPerDeg))
	ax, ay := offset(p, path[0], east)
	nearest := float64(ax*ax) + float64(ay*ay)
	for _, b := range path[1:] {
		if nearest <= stop {
			break
		}
		bx, by := offset(p, b, east)
		nearest = min(nearest, squareToSegment(ax, ay, bx, by))
		ax, ay = bx, by
	}
	return float64(math.Sqrt(nearest) * metresPerDegree)
}

// offset is where q lies seen from p, in degrees of latitude to the east and north, the
// short way around the Earth.
func offset(p, q schemas.LatLon, east float64) (x, y float64) {
	dLon := q.Lon - p.Lon
	if dLon > 180 {
		dLon -= 360
	} else if dLon < -180 {
		dLon += 360
	}
	return float64(dLon * east), q.Lat - p.Lat
}

// squareToSegment is the square of the distance from the origin to the segment a-b.
func squareToSegment(ax, ay, bx, by float64) float64 {
	dx, dy := bx-ax, by-ay
	along := -(float64(ax*dx) + float64(ay*dy))
	length2 := float64(dx*dx) + float64(dy*dy)
	switch {
	case along <= 0: // also when a and b are the same place
		return float64(ax*ax) + float64(ay*ay)
	case along >= length2:
		return float64(bx*bx) + float64(by*by)
	}
	t := along / length2
	x, y := ax+float64(t*dx), ay+float64(t*dy)
	return float64(x*x) + float64(y*y)
}
