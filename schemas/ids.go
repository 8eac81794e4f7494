package schemas

import (
	"crypto/sha1"
	"encoding/hex"
	"math"
	"strconv"
	"time"
)

type (
	TripID    string // tripId; also the record key of the input topics
	EventID   string // eventId, unique per (topic, trip)
	Partition int32  // Kafka partition number; the same number of the three input topics is one task
	Offset    int64  // Kafka offset
)

// Millis is an instant of event time or broker time: milliseconds since the Unix epoch.
type Millis int64

const (
	// NoTime is "before everything": a watermark or maximum not yet set.
	NoTime Millis = math.MinInt64
	// EndOfTime is "after everything": the watermark once all input of a replay was read.
	EndOfTime Millis = math.MaxInt64

	Second Millis = 1000
	Minute        = 60 * Second
	Hour          = 60 * Minute
	Day           = 24 * Hour
)

// Add is t+d that stays at the ends: EndOfTime and NoTime absorb, overflow saturates.
func (t Millis) Add(d Millis) Millis {
	if t == NoTime || t == EndOfTime {
		return t
	}
	s := t + d
	switch {
	case d > 0 && s < t:
		return EndOfTime
	case d < 0 && s > t:
		return NoTime
	}
	return s
}

// Time is t as a UTC time.Time; only for showing.
func (t Millis) Time() time.Time { return time.UnixMilli(int64(t)).UTC() }

func (t Millis) String() string {
	switch t {
	case NoTime:
		return "-inf"
	case EndOfTime:
		return "+inf"
	}
	return t.Time().Format("2006-01-02T15:04:05.000Z")
}

// namespaceUUID is UUIDv5(DNS, "taximeter"): the name space of every id we make.
var namespaceUUID = uuid5([16]byte{0x6b, 0xa7, 0xb8, 0x10, 0x9d, 0xad, 0x11, 0xd1, 0x80, 0xb4, 0x00, 0xc0, 0x4f, 0xd4, 0x30, 0xc8}, "taximeter")

// BillEventID is the eventId of version v of a trip's bill: the same on every node and every retry.
func BillEventID(trip TripID, version int) EventID {
	return EventID(formatUUID(uuid5(namespaceUUID, "fatura/", string(trip), "/", strconv.Itoa(version))))
}

// AlertID names the fact an alert tells: one rule, one trip, one onset.
func AlertID(rule string, trip TripID, onset EventID) string {
	return formatUUID(uuid5(namespaceUUID, "alerta/", rule, "/", string(trip), "/", string(onset)))
}

// uuid5 is RFC 9562 version 5 (SHA-1 of name space and name, here in its parts).
func uuid5(ns [16]byte, name ...string) [16]byte {
	var room [256]byte // so that nothing is allocated for a name of usual length
	b := append(room[:0], ns[:]...)
	for _, part := range name {
		b = append(b, part...)
	}
	sum := sha1.Sum(b)
	u := [16]byte(sum[:])
	u[6] = u[6]&0x0f | 0x50
	u[8] = u[8]&0x3f | 0x80
	return u
}

func formatUUID(u [16]byte) string {
	var b [36]byte
	hex.Encode(b[0:8], u[0:4])
	hex.Encode(b[9:13], u[4:6])
	hex.Encode(b[14:18], u[6:8])
	hex.Encode(b[19:23], u[8:10])
	hex.Encode(b[24:], u[10:])
	b[8], b[13], b[18], b[23] = '-', '-', '-', '-'
	return string(b[:])
}
