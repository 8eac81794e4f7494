package city

import (
	"strconv"

	"taximeter/internal/plane"
	"taximeter/schemas"
)

// ride is one trip while it lasts.
type ride struct {
	num              uint64
	id               schemas.TripID
	key              []byte
	region, category string
	driver           string
	passenger        string
	device           string
	multiplier       schemas.Mils
	plainIDs         bool
	lastID           int64 // of plain ids

	matched, start, end schemas.Millis
	from                schemas.LatLon // where the car is when it is matched
	road                road
	quiet               stretch // no signal
	lost                bool    // what was seen without a signal is lost, else sent afterwards

	steps              []step // by when
	nextTick, lastTick schemas.Millis

	fares    []fare // as it ended first, and as it was corrected to
	paid     schemas.Cents
	currency string
	means    string
	card     string

	unacknowledged []*schemas.TelemetryRecord // the phone's last
}

func (t *ride) number() uint64 { return t.num }

// due is when something happens to the ride next; EndOfTime = it is over.
func (t *ride) due() schemas.Millis {
	if len(t.steps) > 0 && t.steps[0].when < t.nextTick {
		return t.steps[0].when
	}
	return t.nextTick
}

// newID is the id of the ride's next event, of whatever topic.
func (t *ride) newID(c *City) schemas.EventID {
	if t.plainIDs {
		t.lastID++
		return schemas.EventID(strconv.FormatInt(t.lastID, 10))
	}
	return schemas.EventID(c.uuid())
}

// pseudonym is one of n people or things.
func (c *City) pseudonym(prefix string, n int) string {
	return prefix + strconv.FormatInt(int64(c.rng.IntN(n))*7919%1_000_003+1_000_000, 36)
}

// live lets the ride's next thing happen.
func (c *City) live(t *ride) {
	if len(t.steps) > 0 && t.steps[0].when < t.nextTick {
		s := t.steps[0]
		t.steps = t.steps[1:]
		c.act(t, &s)
		return
	}
	c.position(t, t.nextTick)
	if t.nextTick += tick; t.nextTick > t.lastTick {
		t.nextTick = schemas.EndOfTime
	}
}

// position makes the car drive and its phone tell where it is.
func (c *City) position(t *ride, at schemas.Millis) {
	var place schemas.LatLon
	speed := 0.0
	if at < t.start {
		share := float64(at-t.matched) / float64(t.start-t.matched)
		if t.start == schemas.EndOfTime {
			share = 0 // cancelled: the car waits where it is
		}
		place = along(t.from, t.road.way[0], share)
	} else {
		speed = t.road.advance(c, at)
		place = t.road.place()
	}
	place = plane.Moved(place, c.rng.NormFloat64()*3, c.rng.NormFloat64()*3)
	sent := at
	if t.quiet.holds(at) {
		if t.lost {
			return
		}
		sent = t.quiet.to // all at once when the signal is back
	}
	for i := range t.fares {
		t.fares[i].add(at, place)
	}
	kmh, precision := float32(int(speed*36))/10, float32(c.rng.IntN(120)+30)/10
	r := schemas.TelemetryRecord{EventID: t.newID(c), TripID: t.id, DriverID: t.driver, At: at, Lat: place.Lat, Lon: place.Lon,
		SpeedKmh: &kmh, PrecisionM: &precision, Device: &t.device}
	c.tellPosition(t, sent, r)
	if c.chance(invalidShare / freshShare) {
		c.spoil(t, sent, r)
	}
	if at >= c.nextAhead {
		c.rush(t, sent, r)
		day := (at-c.cfg.Start)/schemas.Day + 1
		c.nextAhead = c.cfg.Start + day*schemas.Day + c.between(0, 20*schemas.Minute)
	} else if c.chance(aheadShare) {
		c.rush(t, sent, r)
	}
}

// tellPosition sends a position; once in a while a wrong one first, and the right one as
// its correction.
func (c *City) tellPosition(t *ride, at schemas.Millis, right schemas.TelemetryRecord) {
	if !c.chance(corrected) {
		c.send(t, at, parcel{topic: schemas.Telemetry, telemetry: &right})
		return
	}
	wrongs := 1
	if c.chance(correctedAgain) {
		wrongs = 2
	}
	var previous *schemas.EventID
	for range wrongs {
		wrong := right
		astray := plane.Moved(schemas.LatLon{Lat: right.Lat, Lon: right.Lon}, c.rng.NormFloat64()*600, c.rng.NormFloat64()*600)
		wrong.Lat, wrong.Lon, wrong.Rectifies = astray.Lat, astray.Lon, previous
		c.send(t, at, parcel{topic: schemas.Telemetry, telemetry: &wrong})
		previous = &wrong.EventID
		right.EventID = t.newID(c)
		at += c.between(5*schemas.Second, schemas.Minute)
	}
	right.Rectifies = previous
	c.send(t, at, parcel{topic: schemas.Telemetry, telemetry: &right})
}

// act does one planned step.
func (c *City) act(t *ride, s *step) {
	switch s.do {
	case tell:
		c.tellRide(t, s)
	case pay:
		c.tellPayment(t, s)
	case charge:
		if amount, ok := c.amount(t, &t.fares[s.fare]); ok {
			c.planCharge(t, s.when, amount)
		}
	case fee:
		if amount, ok := c.cancelFee(t, s.at); ok {
			c.planCharge(t, s.when, amount)
		}
	case settle:
		if amount, ok := c.amount(t, &t.fares[s.fare]); ok {
			c.planSettlement(t, s.when, amount)
		}
	case refund:
		c.planSettlement(t, s.when, 0)
	}
}

func (c *City) tellRide(t *ride, s *step) {
	r := schemas.RideRecord{EventID: s.id, TripID: t.id, At: s.at, Kind: s.kind.String(), PassengerID: &t.passenger}
	if s.rectifies != "" {
		r.Rectifies = &s.rectifies
	}
	place := t.road.way[0]
	switch s.kind {
	case schemas.RideRequest:
		r.Region, r.Category = &t.region, &t.category
	case schemas.RideMatch:
		r.Region, r.Category, r.DriverID = &t.region, &t.category, &t.driver
		if t.multiplier != schemas.OneMils {
			r.Multiplier = &t.multiplier
		}
	case schemas.RideStart:
		r.DriverID, r.Route = &t.driver, t.road.way
	case schemas.RideEnd:
		r.DriverID = &t.driver
		place = t.road.place()
	case schemas.RideRating:
		stars := int32(5 - min(4, c.rng.IntN(12)/2))
		r.Rating = &stars
	}
	switch s.kind {
	case schemas.RideRequest, schemas.RideStart, schemas.RideEnd:
		r.Lat, r.Lon = &place.Lat, &place.Lon
	}
	c.send(t, s.when, parcel{topic: schemas.Rides, ride: &r})
}
