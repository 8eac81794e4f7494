package geo

import (
	"math"

	"taximeter/schemas"
)

// EarthRadiusM is the mean radius of the Earth in metres.
const EarthRadiusM = 6_371_008.8

// radPerDeg turns degrees into radians.
const radPerDeg float64 = math.Pi / 180

// Haversine is the great-circle distance from a to b in metres:
// 2*R*asin(min(1, sqrt(h))), h = sin²(dφ/2) + cosφ1*cosφ2*sin²(dλ/2).
//
// The order of evaluation is part of the contract. Positions must be finite and within
// ±90 and ±180 degrees.
func Haversine(a, b schemas.LatLon) float64 {
	phi1 := float64(a.Lat * radPerDeg)
	phi2 := float64(b.Lat * radPerDeg)
	s1 := sin(float64((phi2 - phi1) / 2))
	s2 := sin(float64(float64((b.Lon-a.Lon)*radPerDeg) / 2))
	h := float64(s1*s1) + float64(float64(float64(cos(phi1)*cos(phi2))*s2)*s2)
	return float64(float64(2*EarthRadiusM) * asin(min(1, math.Sqrt(h))))
}
