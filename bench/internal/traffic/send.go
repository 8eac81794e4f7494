package traffic

import (
	"encoding/hex"
	"math"

	"taximeter/schemas"
	"taximeter/schemas/edge"
)

// nature says what is out of the ordinary about a record.
type nature uint8

const (
	plain nature = iota
	repeated
	late
	veryLate
	invalid
	future
)

// sent is a record between phone and broker. What the line points to is never changed.
type sent struct {
	edge.Line
	nature nature
}

// send puts a record on its way at an instant: usually well under a second, sometimes
// minutes or hours, sometimes twice, and sometimes with a spoiled one beside it.
func (s *Stream) send(t *trip, at schemas.Millis, l edge.Line) {
	l.Key, l.AppendedAt = []byte(t.id), at+s.network()
	n := plain
	switch roll := s.rng.Float64(); {
	case roll < veryLateShare:
		n, l.AppendedAt = veryLate, at+s.between(10*schemas.Minute, 2*schemas.Hour)
	case roll < veryLateShare+lateShare:
		n, l.AppendedAt = late, at+s.between(2*schemas.Minute, 6*schemas.Minute)
	}
	s.add(t, n, l)
	if s.chance(repeatedShare / (1 - repeatedShare)) {
		again := l
		again.AppendedAt += s.between(200, 3*schemas.Second)
		if s.chance(0.05) {
			again.AppendedAt += s.between(2*schemas.Minute, 6*schemas.Minute)
		}
		s.add(t, repeated, again)
	}
	if s.chance(invalidShare / (1 - repeatedShare)) {
		s.spoil(t, at, &l)
	}
}

func (s *Stream) add(t *trip, n nature, l edge.Line) {
	t.lines = append(t.lines, sent{l, n})
	if (s.planned+int64(len(t.lines)))%futureEvery == futureFirst {
		s.rush(t, l.AppendedAt)
	}
}

// network is how long a record usually takes: 50 ms and more, hardly ever seconds.
func (s *Stream) network() schemas.Millis {
	return 50 + min(5*schemas.Second, schemas.Millis(s.rng.ExpFloat64()*250))
}

// spoil sends something that no meter can take, beside the true record.
func (s *Stream) spoil(t *trip, at schemas.Millis, l *edge.Line) {
	r := schemas.TelemetryRecord{EventID: s.eventID(), TripID: t.id, DriverID: t.driver, At: at, Lat: t.home.Lat, Lon: t.home.Lon}
	bad := edge.Line{Topic: schemas.Telemetry, Key: l.Key, AppendedAt: at + s.network(), Telemetry: &r}
	switch s.rng.IntN(7) {
	case 0:
		r.TripID = ""
	case 1:
		r.EventID = ""
	case 2:
		r.Lat, r.Lon = 0, 0
	case 3:
		r.Lon = math.NaN()
	case 4:
		r.At = 0
	case 5:
		bad.Key = []byte(s.uuid())
	case 6:
		bad.Telemetry, bad.Raw = nil, []byte(`{"erro":"sem sinal"}`)
	}
	s.add(t, invalid, bad)
}

// rush sends a position of a phone whose clock is hours ahead.
func (s *Stream) rush(t *trip, at schemas.Millis) {
	r := schemas.TelemetryRecord{EventID: s.eventID(), TripID: t.id, DriverID: t.driver, At: at + s.between(schemas.Hour, schemas.Day),
		Lat: t.home.Lat, Lon: t.home.Lon}
	t.lines = append(t.lines, sent{edge.Line{Topic: schemas.Telemetry, Key: []byte(t.id), AppendedAt: at, Telemetry: &r}, future})
}

func (s *Stream) eventID() schemas.EventID { return schemas.EventID(s.uuid()) }

// uuid is version 4 of the seed's randomness.
func (s *Stream) uuid() string {
	a, b := s.rng.Uint64(), s.rng.Uint64()
	var u [16]byte
	for i := range 8 {
		u[i], u[8+i] = byte(a>>(8*i)), byte(b>>(8*i))
	}
	u[6], u[8] = u[6]&0x0f|0x40, u[8]&0x3f|0x80
	var text [36]byte
	hex.Encode(text[0:8], u[0:4])
	hex.Encode(text[9:13], u[4:6])
	hex.Encode(text[14:18], u[6:8])
	hex.Encode(text[19:23], u[8:10])
	hex.Encode(text[24:36], u[10:16])
	text[8], text[13], text[18], text[23] = '-', '-', '-', '-'
	return string(text[:])
}
