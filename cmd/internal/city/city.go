package city

import (
	"container/heap"
	"math"
	"math/rand/v2"

	"github.com/google/uuid"

	"taximeter/actors/tariff"
	"taximeter/schemas"
	"taximeter/schemas/edge"
)

// City makes records one by one. It belongs to one goroutine.
type City struct {
	cfg     Config
	rng     *rand.Rand
	tariffs *tariff.Catalogue

	trips       queue[*ride]
	onTheWay    queue[*parcel]
	nextRequest schemas.Millis // when the next passenger asks for a car; EndOfTime = nobody will
	nextAhead   schemas.Millis // when the day's phone with a fast clock turns up
	numbered    uint64         // trips and parcels

	line   edge.Line
	counts Counts
}

// Counts says what was given so far, by nature. Each record counts once: a repeated record
// that is late counts as repeated.
type Counts struct {
	Records   int64
	Repeated  int64
	Late      int64 // 2 to 6 minutes on the way
	VeryLate  int64 // 10 minutes or more
	Invalid   int64
	Ahead     int64 // ocorridoEm more than 2 minutes after AppendedAt
	Rectifies int64 // links to another event

	Trips int64 // begun, whether or not something of them was given
}

// New makes a city that has been busy for a while: at the start there are as many trips
// under way as ever after, those with less than their usual length left to go.
func New(cfg Config) (*City, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	c := &City{cfg: cfg, rng: rand.New(rand.NewPCG(cfg.Seed, 0x7a78696d65746572)), tariffs: priceList(cfg.Tariffs), nextRequest: cfg.Start}
	c.nextAhead = cfg.Start + c.between(0, 20*schemas.Minute)
	for range int(c.tripsPerMilli() * float64(tripLength)) {
		c.begin(cfg.Start+c.between(0, 2*schemas.Minute), c.rng.Float64())
	}
	c.plan()
	return c, nil
}

func (c *City) tripsPerMilli() float64 {
	return c.cfg.EventsPerSecond / eventsPerTrip / float64(schemas.Second)
}

// plan draws when the next trip is requested: a Poisson process.
func (c *City) plan() {
	wait := c.rng.ExpFloat64() / c.tripsPerMilli()
	c.nextRequest += schemas.Millis(math.Ceil(wait))
	if c.cfg.Span > 0 && c.nextRequest >= c.cfg.Start+c.cfg.Span {
		c.nextRequest = schemas.EndOfTime
	}
}

// Next gives the record appended next; false at the end of the configured stream. Key and
// AppendedAt are always set. The line is reused by the next Next, what it points to is not.
func (c *City) Next() (*edge.Line, bool) {
	if c.cfg.Events > 0 && c.counts.Records == c.cfg.Events {
		return nil, false
	}
	for {
		// Nothing is appended before it happens, so what is on the way and due by the next
		// happening is next.
		happening := min(c.nextRequest, c.trips.nextDue())
		if c.onTheWay.nextDue() <= happening {
			if len(c.onTheWay) == 0 {
				return nil, false
			}
			return c.give(heap.Pop(&c.onTheWay).(*parcel)), true
		}
		if c.nextRequest <= c.trips.nextDue() {
			c.begin(c.nextRequest, 1)
			c.plan()
			continue
		}
		t := c.trips[0]
		c.live(t)
		if t.due() == schemas.EndOfTime {
			heap.Pop(&c.trips)
		} else {
			heap.Fix(&c.trips, 0)
		}
	}
}

func (c *City) give(p *parcel) *edge.Line {
	c.counts.add(p)
	c.line = edge.Line{Number: int(c.counts.Records), Topic: p.topic, Key: p.key, AppendedAt: p.appendedAt,
		Telemetry: p.telemetry, Ride: p.ride, Payment: p.payment, Raw: p.raw}
	return &c.line
}

func (c *Counts) add(p *parcel) {
	c.Records++
	switch p.nature {
	case repeated:
		c.Repeated++
	case late:
		c.Late++
	case veryLate:
		c.VeryLate++
	case invalid:
		c.Invalid++
	case ahead:
		c.Ahead++
	}
	if p.rectifies() {
		c.Rectifies++
	}
}

// Counts says what was given so far.
func (c *City) Counts() Counts { return c.counts }

// begin starts a trip; length shortens the ride, for those already under way.
func (c *City) begin(at schemas.Millis, length float64) {
	c.numbered++
	c.counts.Trips++
	heap.Push(&c.trips, c.newRide(at, length))
}

func (c *City) chance(p float64) bool { return c.rng.Float64() < p }

// between is uniform in [from, to).
func (c *City) between(from, to schemas.Millis) schemas.Millis {
	return from + schemas.Millis(c.rng.Int64N(int64(to-from)))
}

func (c *City) uniform(from, to float64) float64 { return from + (to-from)*c.rng.Float64() }

// uuid is version 4 of the seed's randomness.
func (c *City) uuid() string {
	var u uuid.UUID
	for i, half := range [2]uint64{c.rng.Uint64(), c.rng.Uint64()} {
		for j := range 8 {
			u[8*i+j] = byte(half >> (8 * j))
		}
	}
	u[6] = u[6]&0x0f | 0x40
	u[8] = u[8]&0x3f | 0x80
	return u.String()
}
