package codec

import (
	"fmt"
	"unsafe"

	"taximeter/schemas"
)

// Decoder reads the records of the input topics as the meter's events. Safe for
// concurrent use: Learn replaces a table that Decode reads without a lock.
type Decoder struct {
	topics [schemas.NumInputs]*Reader[schemas.Event]
}

// NewDecoder knows no writer schema yet.
func NewDecoder() *Decoder {
	return &Decoder{topics: [schemas.NumInputs]*Reader[schemas.Event]{
		schemas.Telemetry: newReader(telemetryEventFields()),
		schemas.Rides:     newReader(rideEventFields()),
		schemas.Payments:  newReader(paymentEventFields()),
	}}
}

// Learn compiles the writer schema of an id for a topic; see Reader.Learn. Only the
// fields the meter reads decide whether the schema is fit.
func (d *Decoder) Learn(topic schemas.Topic, id int, writerSchema string, references ...string) error {
	if err := d.topics[topic].Learn(id, writerSchema, references...); err != nil {
		return fmt.Errorf("%s: %w", topic, err)
	}
	return nil
}

// Knows reports whether Learn was told of an id for a topic, fit or not.
func (d *Decoder) Knows(topic schemas.Topic, id int) bool { return d.topics[topic].Knows(id) }

// Decode reads one value into ev, whatever ev held. Strings of ev alias value: they live
// as long as it is not written to. Nothing is allocated but a ride's planned route. After
// an error ev is empty but for its topic. An id not learned is an *UnknownSchemaError.
//
// A null id, instant or telemetry coordinate is left zero, for schemas.CheckEvent to
// judge.
func (d *Decoder) Decode(topic schemas.Topic, value []byte, ev *schemas.Event) error {
	*ev = schemas.Event{Topic: topic}
	p, err := d.topics[topic].planFor(value)
	if err != nil {
		return err
	}
	body := value[frameLen:]
	if err := p.run(unsafe.String(unsafe.SliceData(body), len(body)), ev); err != nil {
		*ev = schemas.Event{Topic: topic}
		return err
	}
	if topic == schemas.Telemetry {
		ev.Kind = schemas.Position
	}
	settlePosition(ev)
	return nil
}

// While an event is being read its coordinates are marked one by one.
const (
	hasLat schemas.Fields = 1 << 14
	hasLon schemas.Fields = 1 << 15
)

// settlePosition keeps a position only with both coordinates: half of one must not pass
// for a place on the equator or on the meridian of Greenwich.
func settlePosition(ev *schemas.Event) {
	if ev.Has&hasLat != 0 && ev.Has&hasLon != 0 {
		ev.Has |= schemas.HasPosition
	} else {
		ev.LatLon = schemas.LatLon{}
	}
	ev.Has &^= hasLat | hasLon
}
