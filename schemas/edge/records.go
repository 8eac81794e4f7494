package edge

import (
	"errors"
	"fmt"
	"math"

	"github.com/go-json-experiment/json/jsontext"

	"taximeter/schemas"
)

var (
	errMissing  = errors.New("missing")
	errTrailing = errors.New("something follows the event: one event a line")
)

// parser reads the values of events. It is the reader's own: its buffers are used again.
type parser struct {
	scan *scanner
	obj  object // the record
	sub  object // an object within it
}

// parse sets the line's record from its Value, and its fault if that is no record.
func (p *parser) parse(l *Line) error {
	isObject, err := p.scan.object(l.Value, &p.obj)
	if err != nil {
		return err // not reached: the envelope's scan has validated the value
	}
	if !isObject {
		p.obj.fault = wrongType("an object", l.Value)
	}
	switch l.Topic {
	case schemas.Telemetry:
		l.Telemetry = p.telemetry()
	case schemas.Rides:
		l.Ride = p.ride()
	case schemas.Payments:
		l.Payment = p.payment()
	}
	if p.obj.fault != nil {
		l.Fault, l.Detail = schemas.DLQUnreadable, p.obj.fault.Error()
	}
	return nil
}

func (p *parser) telemetry() *schemas.TelemetryRecord {
	o := &p.obj
	return &schemas.TelemetryRecord{
		EventID:    orElse(o, fEventID, parseText[schemas.EventID], ""),
		TripID:     orElse(o, fTripID, parseText[schemas.TripID], ""),
		DriverID:   orElse(o, fDriverID, parseText[string], ""),
		At:         orElse(o, fAt, parseInstant, 0),
		Lat:        orElse(o, fLat, parseFloat64, math.NaN()),
		Lon:        orElse(o, fLon, parseFloat64, math.NaN()),
		SpeedKmh:   optional(o, fSpeedKmh, parseFloat32),
		PrecisionM: optional(o, fPrecisionM, parseFloat32),
		Device:     optional(o, fDevice, parseText[string]),
		Rectifies:  optional(o, fRectifies, parseText[schemas.EventID]),
	}
}

func (p *parser) ride() *schemas.RideRecord {
	o := &p.obj
	return &schemas.RideRecord{
		EventID:     orElse(o, fEventID, parseText[schemas.EventID], ""),
		TripID:      orElse(o, fTripID, parseText[schemas.TripID], ""),
		At:          orElse(o, fAt, parseInstant, 0),
		Kind:        p.kind(),
		PassengerID: optional(o, fPassengerID, parseText[string]),
		DriverID:    optional(o, fDriverID, parseText[string]),
		Region:      optional(o, fRegion, parseText[string]),
		Category:    optional(o, fCategory, parseText[string]),
		Multiplier:  optional(o, fMultiplier, parseMils),
		Lat:         optional(o, fLat, parseFloat64),
		Lon:         optional(o, fLon, parseFloat64),
		Rating:      optional(o, fRating, parseInt32),
		Route:       orElse(o, fRoute, p.route, nil),
		Rectifies:   optional(o, fRectifies, parseText[schemas.EventID]),
	}
}

func (p *parser) payment() *schemas.PaymentRecord {
	o := &p.obj
	return &schemas.PaymentRecord{
		EventID:   orElse(o, fEventID, parseText[schemas.EventID], ""),
		TripID:    orElse(o, fTripID, parseText[schemas.TripID], ""),
		At:        orElse(o, fAt, parseInstant, 0),
		Kind:      p.kind(),
		Amount:    required(o, fAmount, parseCents),
		Currency:  orElse(o, fCurrency, parseText[string], ""),
		Means:     optional(o, fMeans, parseText[string]),
		CardID:    optional(o, fCardID, parseText[string]),
		Rectifies: optional(o, fRectifies, parseText[schemas.EventID]),
		Bill:      optional(o, fBill, p.bill),
	}
}

// kind is the enum symbol; one left out is what Avro's default makes of it.
func (p *parser) kind() string {
	return orElse(&p.obj, fKind, parseText[string], schemas.KindUnknown.String())
}

func (p *parser) route(v jsontext.Value) ([]schemas.LatLon, error) {
	if v.Kind() != '[' {
		return nil, wrongType("an array of {latitude, longitude}", v)
	}
	points, err := p.scan.elements(v)
	if err != nil {
		return nil, err
	}
	route := make([]schemas.LatLon, 0, len(points)) // not nil: an empty route is not a null one
	for i, v := range points {
		at, err := nested(p, v, func(o *object) schemas.LatLon {
			return schemas.LatLon{Lat: required(o, fLat, parseFloat64), Lon: required(o, fLon, parseFloat64)}
		})
		if err != nil {
			return nil, fmt.Errorf("point %d: %w", i, err)
		}
		route = append(route, at)
	}
	return route, nil
}

// bill reads a fatura whole: every field that its contract does not let be null is required.
func (p *parser) bill(v jsontext.Value) (schemas.BillRecord, error) {
	return nested(p, v, func(o *object) schemas.BillRecord {
		return schemas.BillRecord{
			Version:       required(o, fVersion, parseInt32),
			DistanceMM:    required(o, fDistanceMM, parseInt64),
			DurationS:     required(o, fDurationS, parseInt64),
			TariffID:      required(o, fTariffID, parseText[string]),
			Region:        required(o, fRegion, parseText[string]),
			Category:      required(o, fCategory, parseText[string]),
			Multiplier:    required(o, fMultiplier, parseMils),
			Start:         required(o, fStart, parseInstant),
			End:           required(o, fEnd, parseInstant),
			Points:        required(o, fPoints, parseInt32),
			Rejected:      required(o, fRejected, parseInt32),
			Rectification: required(o, fRectification, parseBool),
			Motive:        optional(o, fMotive, parseText[string]),
			Difference:    optional(o, fDifference, parseCents),
			CheckpointID:  required(o, fCheckpointID, parseInt64),
		}
	})
}

func nested[T any](p *parser, v jsontext.Value, read func(*object) T) (T, error) {
	var none T
	isObject, err := p.scan.object(v, &p.sub)
	if err != nil {
		return none, err
	}
	if !isObject {
		return none, wrongType("an object", v)
	}
	r := read(&p.sub)
	return r, p.sub.fault
}
