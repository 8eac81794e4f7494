package edge

import "taximeter/schemas"

// TripID is the trip that the line's record names; "" where it names none.
func (l *Line) TripID() schemas.TripID {
	switch {
	case l.Telemetry != nil:
		return l.Telemetry.TripID
	case l.Ride != nil:
		return l.Ride.TripID
	case l.Payment != nil:
		return l.Payment.TripID
	}
	return ""
}

// EventTime is the instant that the line's record names; zero where it names none.
func (l *Line) EventTime() schemas.Millis {
	switch {
	case l.Telemetry != nil:
		return l.Telemetry.At
	case l.Ride != nil:
		return l.Ride.At
	case l.Payment != nil:
		return l.Payment.At
	}
	return 0
}

// RecordKey is the Kafka key of the line's record: the one given, else its trip's id. It
// is never nil, so that records without either fall into one partition too.
func (l *Line) RecordKey() []byte {
	if l.Key != nil {
		return l.Key
	}
	return []byte(l.TripID())
}

// Shift moves the line in time: its instants that are plausible, by d. Raw values stay.
func (l *Line) Shift(d schemas.Millis) {
	move := func(at *schemas.Millis) {
		if *at >= schemas.MinInstant {
			*at = at.Add(d)
		}
	}
	if l.AppendedAt != schemas.NoTime {
		move(&l.AppendedAt)
	}
	switch {
	case l.Telemetry != nil:
		move(&l.Telemetry.At)
	case l.Ride != nil:
		move(&l.Ride.At)
	case l.Payment != nil:
		move(&l.Payment.At)
	}
}
