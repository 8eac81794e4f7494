package iceberg

import (
	"slices"
	"strings"

	"taximeter/schemas"
)

// Records made of what the meter reads, for values that cannot be read whole. Strings of an
// event alias the value, and are cloned.

func telemetryOf(e *schemas.Event) schemas.TelemetryRecord {
	rec := schemas.TelemetryRecord{EventID: clone(e.EventID), TripID: clone(e.TripID), At: e.At, Lat: e.Lat, Lon: e.Lon, Rectifies: zeroIsNull(clone(e.Rectifies))}
	if e.Has.Has(schemas.HasSpeed) {
		speed := float32(e.SpeedKmh)
		rec.SpeedKmh = &speed
	}
	return rec
}

func rideOf(e *schemas.Event) schemas.RideRecord {
	rec := schemas.RideRecord{EventID: clone(e.EventID), TripID: clone(e.TripID), At: e.At, Kind: e.Kind.String(), Rectifies: zeroIsNull(clone(e.Rectifies))}
	if e.Has.Has(schemas.HasRegion) {
		region := clone(e.Ride.Region)
		rec.Region = &region
	}
	if e.Has.Has(schemas.HasCategory) {
		category := clone(e.Ride.Category)
		rec.Category = &category
	}
	if e.Has.Has(schemas.HasMultiplier) {
		multiplier := e.Ride.Multiplier
		rec.Multiplier = &multiplier
	}
	if e.Has.Has(schemas.HasPosition) {
		lat, lon := e.Lat, e.Lon
		rec.Lat, rec.Lon = &lat, &lon
	}
	if e.Has.Has(schemas.HasRoute) {
		rec.Route = slices.Clone(e.Ride.Route)
	}
	return rec
}

func paymentOf(e *schemas.Event) schemas.PaymentRecord {
	return schemas.PaymentRecord{EventID: clone(e.EventID), TripID: clone(e.TripID), At: e.At, Kind: e.Kind.String(), Amount: e.Payment.Amount,
		Currency: clone(e.Payment.Currency), Means: zeroIsNull(clone(e.Payment.Means)), Rectifies: zeroIsNull(clone(e.Rectifies))}
}

func clone[S ~string](s S) S { return S(strings.Clone(string(s))) }
