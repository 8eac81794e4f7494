package city

import (
	"math"

	"taximeter/internal/plane"
	"taximeter/schemas"
)

// road is the way of one ride and how far the car has come on it.
type road struct {
	way    []schemas.LatLon // planned: rotaPrevista
	driven []schemas.LatLon // the same unless the driver leaves it
	leg    int              // the car is between driven[leg] and driven[leg+1]
	into   float64          // metres from driven[leg]
	cruise float64          // m/s
	redTil schemas.Millis   // at a traffic light until
	stop   stretch          // a long stop
	speed  stretch          // far too fast
}

// stretch is a half-open interval of time; the zero stretch is empty.
type stretch struct{ from, to schemas.Millis }

func (s stretch) holds(at schemas.Millis) bool { return s.from <= at && at < s.to }

// somewhere is a place within about 12 km of a centre.
func (c *City) somewhere(center schemas.LatLon) schemas.LatLon {
	return plane.Moved(center, c.rng.NormFloat64()*4000, c.rng.NormFloat64()*4000)
}

// newRoad is a way of about so many metres through a grid of streets.
func (c *City) newRoad(from schemas.LatLon, metres float64) (r road) {
	r.way = []schemas.LatLon{from}
	at := from
	east, north := 1.0, 0.0
	if c.chance(0.5) {
		east, north = 0, -1
	}
	for metres > 0 {
		block := min(metres, c.uniform(300, 2500))
		at = plane.Moved(at, east*block, north*block)
		r.way = append(r.way, at)
		metres -= block
		// A corner: left or right, but mostly onwards in the two directions of this ride.
		if east, north = north, east; c.chance(0.1) {
			east, north = -east, -north
		}
	}
	r.driven = r.way
	return r
}

// leave makes the driver turn off in mid-way, for about 2.5 km.
func (r *road) leave() {
	i := len(r.way) / 2
	if i == 0 {
		return
	}
	a, b := r.way[i-1], r.way[i]
	aside := 900.0
	out, back := plane.Moved(a, aside, 0), plane.Moved(b, aside, 0)
	if math.Abs(b.Lon-a.Lon) > math.Abs(b.Lat-a.Lat) {
		out, back = plane.Moved(a, 0, aside), plane.Moved(b, 0, aside)
	}
	r.driven = append(append(append([]schemas.LatLon(nil), r.way[:i]...), out, back), r.way[i:]...)
}

// advance lets the car drive for one tick that ends at an instant; its speed in m/s.
func (r *road) advance(c *City, at schemas.Millis) (speed float64) {
	switch {
	case r.stop.holds(at), at < r.redTil:
		return 0
	case r.speed.holds(at):
		speed = c.uniform(35, 40)
	default:
		speed = r.cruise * c.uniform(0.6, 1.4)
		if c.chance(0.06) {
			r.redTil = at + c.between(10*schemas.Second, 50*schemas.Second)
		}
	}
	r.into += speed * float64(tick) / 1000
	for r.leg+1 < len(r.driven) {
		length := plane.Metres(r.driven[r.leg], r.driven[r.leg+1])
		if r.into < length {
			return speed
		}
		r.into -= length
		r.leg++
	}
	r.into = 0
	return 0 // arrived
}

// place is where the car is.
func (r *road) place() schemas.LatLon {
	if r.leg+1 >= len(r.driven) {
		return r.driven[len(r.driven)-1]
	}
	a, b := r.driven[r.leg], r.driven[r.leg+1]
	return along(a, b, r.into/plane.Metres(a, b))
}

// along is the place a share of the way from a to b.
func along(a, b schemas.LatLon, share float64) schemas.LatLon {
	return schemas.LatLon{Lat: plane.Rounded(a.Lat + (b.Lat-a.Lat)*share), Lon: plane.Rounded(a.Lon + (b.Lon-a.Lon)*share)}
}
