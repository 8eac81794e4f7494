package traffic

import (
	"cmp"
	"slices"
	"strconv"

	"taximeter/internal/plane"
	"taximeter/schemas"
	"taximeter/schemas/edge"
)

// Chances per trip, and per position.
const (
	cancelled  = 0.08 // after the match
	rematched  = 0.20
	endMended  = 0.01 // TERMINO rectified by another
	speeding   = 0.02
	longStop   = 0.01
	detour     = 0.01
	cash       = 0.10
	rated      = 0.80 // by each of the two
	pointMoved = 0.002
)

// trip is one that is not over: its records by append time.
type trip struct {
	number int64
	id     schemas.TripID
	driver string
	home   schemas.LatLon // where it begins
	lines  []sent
	next   int
}

func (t *trip) due() schemas.Millis { return t.lines[t.next].AppendedAt }

var regions = []struct {
	name   string
	center schemas.LatLon
}{
	{"sao-paulo", schemas.LatLon{Lat: -23.5505, Lon: -46.6333}},
	{"rio-de-janeiro", schemas.LatLon{Lat: -22.9068, Lon: -43.1729}},
	{"belo-horizonte", schemas.LatLon{Lat: -19.9167, Lon: -43.9345}},
}

var categories = []string{"economico", "economico", "economico", "conforto", "moto"}

// newTrip is a whole trip, requested at an instant.
func (s *Stream) newTrip(request schemas.Millis) *trip {
	region := &regions[s.rng.IntN(len(regions))]
	t := &trip{number: s.counts.Trips, id: schemas.TripID(s.uuid()), driver: "m-" + strconv.Itoa(s.rng.IntN(40_000)),
		home: plane.Moved(region.center, s.rng.NormFloat64()*4000, s.rng.NormFloat64()*4000)}
	passenger, category := "p-"+strconv.Itoa(s.rng.IntN(900_000)), categories[s.rng.IntN(len(categories))]
	about := schemas.RideRecord{PassengerID: &passenger, DriverID: &t.driver, Region: &region.name, Category: &category}
	if s.chance(0.25) {
		surge := schemas.Mils(1100 + 100*s.rng.IntN(12))
		about.Multiplier = &surge
	}
	ride := func(kind schemas.Kind, at schemas.Millis, change func(*schemas.RideRecord)) schemas.EventID {
		r := about
		r.EventID, r.TripID, r.At, r.Kind = s.eventID(), t.id, at, kind.String()
		if change != nil {
			change(&r)
		}
		s.send(t, at, edge.Line{Topic: schemas.Rides, Ride: &r})
		return r.EventID
	}

	match := request + s.between(5*schemas.Second, schemas.Minute)
	start := match + s.about(s.cfg.Wait)
	end := start + s.about(s.cfg.Ride)
	ride(schemas.RideRequest, request, func(r *schemas.RideRecord) { r.DriverID, r.Multiplier = nil, nil })
	ride(schemas.RideMatch, match, nil)
	if s.chance(cancelled) {
		at := s.between(match+1, start)
		ride(schemas.RideCancel, at, nil)
		s.drive(t, road{way: []schemas.LatLon{t.home}}, match, at)
		return t.inOrder()
	}
	if s.chance(rematched) {
		ride(schemas.RideMatch, s.between(match, start), nil)
	}
	road := s.newRoad(t.home, start, &end)
	ride(schemas.RideStart, start, func(r *schemas.RideRecord) {
		r.Route, r.Lat, r.Lon = road.way, &t.home.Lat, &t.home.Lon
	})
	s.drive(t, road, match, end)
	if s.chance(endMended) {
		wrong := ride(schemas.RideEnd, s.between(start+1, end), nil)
		ride(schemas.RideEnd, end, func(r *schemas.RideRecord) { r.Rectifies = &wrong })
	} else {
		ride(schemas.RideEnd, end, nil)
	}
	for range 2 {
		if s.chance(rated) {
			stars := int32(5 - min(4, s.rng.IntN(12)/2))
			ride(schemas.RideRating, end+s.between(schemas.Second, 2*schemas.Minute), func(r *schemas.RideRecord) { r.Rating = &stars })
		}
	}
	s.pay(t, start, end)
	return t.inOrder()
}

func (s *Stream) pay(t *trip, start, end schemas.Millis) {
	means, card := "CARTAO", "c-"+strconv.Itoa(s.rng.IntN(800_000))
	amount := schemas.Cents(700 + s.rng.IntN(6000))
	pay := func(kind schemas.Kind, at schemas.Millis) {
		r := schemas.PaymentRecord{EventID: s.eventID(), TripID: t.id, At: at, Kind: kind.String(), Amount: amount, Currency: "BRL", Means: &means, CardID: &card}
		s.send(t, at, edge.Line{Topic: schemas.Payments, Payment: &r})
	}
	if s.chance(cash) {
		means = "DINHEIRO"
		pay(schemas.PayAuthorization, end+schemas.Second)
		return
	}
	pay(schemas.PayAuthorization, start+schemas.Second)
	pay(schemas.PayCapture, end+s.between(schemas.Second, schemas.Minute))
}

// drive tells where the car is from the match to the end; before the start it waits.
func (s *Stream) drive(t *trip, r road, match, end schemas.Millis) {
	device := "samsung SM-A556E"
	for at := match + s.between(0, s.cfg.Every); at < end; at += s.cfg.Every {
		place := plane.Moved(r.place(at), s.rng.NormFloat64()*3, s.rng.NormFloat64()*3)
		kmh, precision := float32(s.rng.IntN(800))/10, float32(30+s.rng.IntN(120))/10
		p := schemas.TelemetryRecord{EventID: s.eventID(), TripID: t.id, DriverID: t.driver, At: at, Lat: place.Lat, Lon: place.Lon,
			SpeedKmh: &kmh, PrecisionM: &precision, Device: &device}
		if s.chance(pointMoved) {
			wrong := p
			astray := plane.Moved(place, s.rng.NormFloat64()*600, s.rng.NormFloat64()*600)
			wrong.EventID, wrong.Lat, wrong.Lon = s.eventID(), astray.Lat, astray.Lon
			s.send(t, at, edge.Line{Topic: schemas.Telemetry, Telemetry: &wrong})
			p.Rectifies = &wrong.EventID
		}
		s.send(t, at, edge.Line{Topic: schemas.Telemetry, Telemetry: &p})
	}
}

func (t *trip) inOrder() *trip {
	slices.SortStableFunc(t.lines, func(a, b sent) int { return cmp.Compare(a.AppendedAt, b.AppendedAt) })
	return t
}

// road is the way of one ride.
type road struct {
	way        []schemas.LatLon
	start      schemas.Millis
	metresPerS float64
	stop       stretch // stands
	fast       stretch // at 130 km/h
	aside      stretch // 900 m east of the way
}

// stretch is a half-open interval of time; the zero stretch is empty.
type stretch struct{ from, to schemas.Millis }

func (x stretch) holds(at schemas.Millis) bool { return x.from <= at && at < x.to }

// spent is how much of the stretch has passed at an instant.
func (x stretch) spent(at schemas.Millis) schemas.Millis { return max(0, min(at, x.to)-x.from) }

const fastMPerS = 36

// newRoad lays a way through a grid of streets; what happens on it may delay its end.
func (s *Stream) newRoad(from schemas.LatLon, start schemas.Millis, end *schemas.Millis) road {
	r := road{start: start, metresPerS: 6 + 8*s.rng.Float64()}
	middle := start + (*end-start)/3
	switch odd := s.rng.Float64(); {
	case odd < longStop:
		r.stop = stretch{middle, middle + 12*schemas.Minute}
		*end += 12 * schemas.Minute
	case odd < longStop+speeding:
		r.fast = stretch{middle, middle + max(schemas.Minute, 4*s.cfg.Every)}
	case odd < longStop+speeding+detour:
		r.aside = stretch{middle, middle + max(2*schemas.Minute, 6*s.cfg.Every)}
	}
	at, east, north := from, 1.0, 0.0
	r.way = []schemas.LatLon{from}
	for left := r.metres(*end); left > 0; {
		block := min(left, 300+1500*s.rng.Float64())
		at = plane.Moved(at, east*block, north*block)
		r.way = append(r.way, at)
		left -= block
		east, north = north, east
	}
	return r
}

// metres driven at an instant.
func (r *road) metres(at schemas.Millis) float64 {
	fast := float64(r.fast.spent(at))
	usual := float64(max(0, at-r.start)-r.stop.spent(at)) - fast
	return (usual*r.metresPerS + fast*fastMPerS) / 1000
}

func (r *road) place(at schemas.Millis) schemas.LatLon {
	left, to := r.metres(at), r.way[0]
	for i := 1; i < len(r.way); i++ {
		a, b := r.way[i-1], r.way[i]
		to = b
		if length := plane.Metres(a, b); left < length {
			share := left / length
			to = schemas.LatLon{Lat: a.Lat + (b.Lat-a.Lat)*share, Lon: a.Lon + (b.Lon-a.Lon)*share}
			break
		} else {
			left -= length
		}
	}
	if r.aside.holds(at) {
		to = plane.Moved(to, 900, 0)
	}
	return to
}
