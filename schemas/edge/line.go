package edge

import (
	"bytes"

	"taximeter/schemas"
)

// Line is one event of an event file:
//
//	{"topic":"corridas.telemetria","value":{...},"appendedAt":1764000000123,"key":"trip-7"}
//
// with "raw" (base64 of a whole Kafka value) in the place of "value" for records that are
// not a JSON record. appendedAt and key may be left out; further fields are ignored.
//
// Exactly one of Telemetry, Ride, Payment and Raw is set. With a Fault the record holds
// what could be read of it.
//
// The Line is reused by the next Next, and so are the bytes of Value; strings, records,
// Key and Raw are not, and may be kept.
type Line struct {
	Number     int // in the file, from 1
	Topic      schemas.Topic
	Key        []byte         // nil = none given
	AppendedAt schemas.Millis // schemas.NoTime = none given (not the zero value: see Writer)

	Telemetry *schemas.TelemetryRecord
	Ride      *schemas.RideRecord
	Payment   *schemas.PaymentRecord
	Raw       []byte

	Fault  schemas.Verdict // schemas.Counted (zero) = readable
	Detail string          // the fault in words, beginning with the field
	Value  []byte          // the JSON value as it stood; nil with Raw

	decode RawDecoder
}

// RawDecoder reads a whole Kafka value into e, or says which dead-letter verdict it gets
// and why. The verdict is schemas.Counted when it could be read.
type RawDecoder func(topic schemas.Topic, value []byte, e *schemas.Event) (schemas.Verdict, string)

// Record makes of the line what the partition takes. Everything of dst is set and nothing
// is shared with the reader's buffers; Offset and Own are the caller's to fill in.
func (l *Line) Record(dst *schemas.Record) {
	*dst = schemas.Record{AppendedAt: l.AppendedAt, Fault: l.Fault, Detail: l.Detail, Key: l.Key}
	if l.Raw == nil {
		dst.Value = bytes.Clone(l.Value)
		l.event(&dst.Event)
		return
	}
	dst.Value = l.Raw
	if l.decode != nil {
		dst.Fault, dst.Detail = l.decode(l.Topic, l.Raw, &dst.Event)
	}
	dst.Topic = l.Topic
}

func (l *Line) event(e *schemas.Event) {
	switch {
	case l.Telemetry != nil:
		EventOfTelemetry(l.Telemetry, e)
	case l.Ride != nil:
		EventOfRide(l.Ride, e)
	case l.Payment != nil:
		EventOfPayment(l.Payment, e)
	}
}
