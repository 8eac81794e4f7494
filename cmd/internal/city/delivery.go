package city

import (
	"container/heap"
	"fmt"
	"math"

	"taximeter/schemas"
	"taximeter/schemas/codec"
)

// nature says what is out of the ordinary about a record.
type nature uint8

const (
	plain nature = iota
	repeated
	late
	veryLate
	invalid
	ahead
)

// parcel is a record between phone and broker. What it points to is never changed again.
type parcel struct {
	appendedAt schemas.Millis
	num        uint64
	nature     nature
	topic      schemas.Topic
	key        []byte
	telemetry  *schemas.TelemetryRecord
	ride       *schemas.RideRecord
	payment    *schemas.PaymentRecord
	raw        []byte
}

func (p *parcel) due() schemas.Millis { return p.appendedAt }
func (p *parcel) number() uint64      { return p.num }

func (p *parcel) rectifies() bool {
	return (p.telemetry != nil && p.telemetry.Rectifies != nil) || (p.ride != nil && p.ride.Rectifies != nil) ||
		(p.payment != nil && p.payment.Rectifies != nil)
}

func (c *City) push(p parcel) {
	c.numbered++
	p.num = c.numbered
	heap.Push(&c.onTheWay, &p)
}

// send puts a true record on its way at an instant: usually well under a second, sometimes
// minutes or hours, and sometimes more than once.
func (c *City) send(t *ride, at schemas.Millis, p parcel) {
	p.key = t.key
	p.appendedAt = at + c.network()
	switch roll := c.rng.Float64(); {
	case roll < veryLateShare:
		p.nature, p.appendedAt = veryLate, at+c.between(10*schemas.Minute, 2*schemas.Hour)
	case roll < veryLateShare+lateShare:
		p.nature, p.appendedAt = late, at+c.between(2*schemas.Minute, 6*schemas.Minute)
	}
	c.push(p)
	if p.nature == plain {
		c.repeat(t, p)
	}
}

// network is how long a record usually takes: 50 ms and more, hardly ever seconds.
func (c *City) network() schemas.Millis {
	return 50 + min(5*schemas.Second, schemas.Millis(c.rng.ExpFloat64()*250))
}

// maxBatch is how many positions a phone keeps until it knows that they arrived.
const maxBatch = 8

// repeat sends again: a phone its last positions as a batch, a server the one record.
func (c *City) repeat(t *ride, p parcel) {
	const share = repeatedShare / (1 - repeatedShare)
	if p.telemetry == nil {
		if c.chance(share) {
			p.nature, p.appendedAt = repeated, p.appendedAt+c.between(200, 3*schemas.Second)
			c.push(p)
		}
		return
	}
	if len(t.unacknowledged) == maxBatch {
		copy(t.unacknowledged, t.unacknowledged[1:])
		t.unacknowledged = t.unacknowledged[:maxBatch-1]
	}
	t.unacknowledged = append(t.unacknowledged, p.telemetry)
	if !c.chance(share / (float64(1+maxBatch) / 2)) {
		return
	}
	again := p.appendedAt + c.between(200, 3*schemas.Second)
	if c.chance(0.05) {
		again += c.between(2*schemas.Minute, 6*schemas.Minute)
	}
	batch := t.unacknowledged[max(0, len(t.unacknowledged)-1-c.rng.IntN(maxBatch)):]
	for i, r := range batch {
		c.push(parcel{appendedAt: again + schemas.Millis(i), nature: repeated, topic: schemas.Telemetry, key: t.key, telemetry: r})
	}
}

// spoil sends something that no meter can take, made of a position. The position itself is
// sent too: what is spoiled costs no bill.
func (c *City) spoil(t *ride, at schemas.Millis, r schemas.TelemetryRecord) {
	p := parcel{appendedAt: at + c.network(), nature: invalid, topic: schemas.Telemetry, key: t.key, telemetry: &r}
	r.EventID = t.newID(c)
	switch c.rng.IntN(9) {
	case 0:
		r.TripID = ""
	case 1:
		r.EventID = ""
	case 2:
		r.Lat, r.Lon = 0, 0
	case 3:
		r.Lat += 180
	case 4:
		r.Lon = math.NaN()
	case 5:
		r.At = 0 // a phone that does not know the time
	case 6:
		p.key = []byte(c.uuid())
	case 7:
		p.telemetry, p.raw = nil, []byte(`{"erro":"sem sinal"}`)
	case 8:
		p.telemetry, p.raw = nil, c.cutShort(&r)
	}
	c.push(p)
}

// cutShort is a record of which the connection lost the second half.
func (c *City) cutShort(r *schemas.TelemetryRecord) []byte {
	if c.cfg.TelemetrySchema == 0 {
		return []byte{0, 0, 0}
	}
	whole, err := codec.AppendTelemetry(nil, int(c.cfg.TelemetrySchema), r)
	if err != nil {
		panic(fmt.Sprintf("encode %+v: %v", *r, err))
	}
	return whole[:len(whole)/2]
}

// rush sends a position of a phone whose clock is fast, by minutes to days.
func (c *City) rush(t *ride, at schemas.Millis, r schemas.TelemetryRecord) {
	p := parcel{appendedAt: at + c.network(), nature: ahead, topic: schemas.Telemetry, key: t.key, telemetry: &r}
	r.EventID = t.newID(c)
	r.At = p.appendedAt + c.between(2*schemas.Minute+schemas.Second, 2*schemas.Day)
	c.push(p)
}
