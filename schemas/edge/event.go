package edge

import "taximeter/schemas"

// EventOfTelemetry sets e to what the meter reads of r. The position counts as present
// even when it is NaN: a missing coordinate of telemetry is a fault, not an absence.
func EventOfTelemetry(r *schemas.TelemetryRecord, e *schemas.Event) {
	*e = schemas.Event{
		Topic: schemas.Telemetry, Kind: schemas.Position, Has: schemas.HasPosition,
		TripID: r.TripID, EventID: r.EventID, Rectifies: orZero(r.Rectifies), At: r.At,
		LatLon: schemas.LatLon{Lat: r.Lat, Lon: r.Lon},
	}
	if r.SpeedKmh != nil {
		e.Has |= schemas.HasSpeed
		e.SpeedKmh = float64(*r.SpeedKmh)
	}
}

// EventOfRide sets e to what the meter reads of r.
func EventOfRide(r *schemas.RideRecord, e *schemas.Event) {
	*e = schemas.Event{
		Topic: schemas.Rides, Kind: schemas.KindOf(schemas.Rides, r.Kind),
		TripID: r.TripID, EventID: r.EventID, Rectifies: orZero(r.Rectifies), At: r.At,
		Ride: schemas.RideDetail{
			Region: orZero(r.Region), Category: orZero(r.Category),
			Multiplier: orZero(r.Multiplier), Route: r.Route,
		},
	}
	if r.Lat != nil && r.Lon != nil {
		e.Has |= schemas.HasPosition
		e.LatLon = schemas.LatLon{Lat: *r.Lat, Lon: *r.Lon}
	}
	if r.Region != nil {
		e.Has |= schemas.HasRegion
	}
	if r.Category != nil {
		e.Has |= schemas.HasCategory
	}
	if r.Multiplier != nil {
		e.Has |= schemas.HasMultiplier
	}
	if r.Route != nil {
		e.Has |= schemas.HasRoute
	}
}

// EventOfPayment sets e to what the meter reads of r.
func EventOfPayment(r *schemas.PaymentRecord, e *schemas.Event) {
	*e = schemas.Event{
		Topic: schemas.Payments, Kind: schemas.KindOf(schemas.Payments, r.Kind),
		TripID: r.TripID, EventID: r.EventID, Rectifies: orZero(r.Rectifies), At: r.At,
		Payment: schemas.PaymentDetail{Amount: r.Amount, Currency: r.Currency, Means: orZero(r.Means)},
	}
}

func orZero[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
