// Package plane lays made-up roads on a flat earth: for generators of traffic, good to a few
// per mille over a city.
//
// It must never measure what is billed: that is actors/geo.
package plane

import (
	"math"

	"taximeter/schemas"
)

// metresPerDegree of latitude.
const metresPerDegree = 111_195

// Moved is a place so many metres east and north of another.
func Moved(from schemas.LatLon, east, north float64) schemas.LatLon {
	return schemas.LatLon{
		Lat: Rounded(from.Lat + north/metresPerDegree),
		Lon: Rounded(from.Lon + east/(metresPerDegree*math.Cos(from.Lat*math.Pi/180))),
	}
}

// Rounded to six places, about 0.1 m, as phones send them.
func Rounded(degrees float64) float64 { return math.Round(degrees*1e6) / 1e6 }

// Metres between two places.
func Metres(a, b schemas.LatLon) float64 {
	north := (b.Lat - a.Lat) * metresPerDegree
	east := (b.Lon - a.Lon) * metresPerDegree * math.Cos(a.Lat*math.Pi/180)
	return math.Hypot(north, east)
}
