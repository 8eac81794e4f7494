package codec

import "taximeter/schemas"

// What the meter reads of each input topic.

type eventField = field[schemas.Event]

func commonEventFields() []eventField {
	return []eventField{
		{name: "eventId", want: wantText, need: inSchema, set: func(e *schemas.Event, v value) { e.EventID = schemas.EventID(v.text) }},
		{name: "tripId", want: wantText, need: inSchema, set: func(e *schemas.Event, v value) { e.TripID = schemas.TripID(v.text) }},
		{name: "ocorridoEm", want: wantInstant, need: inSchema, set: func(e *schemas.Event, v value) { e.At = schemas.Millis(v.long) }},
		{name: "retifica", want: wantText, set: func(e *schemas.Event, v value) { e.Rectifies = schemas.EventID(v.text) }},
	}
}

func positionEventFields(n need) []eventField {
	return []eventField{
		{name: "latitude", want: wantDouble, need: n, set: func(e *schemas.Event, v value) { e.Lat, e.Has = v.real, e.Has|hasLat }},
		{name: "longitude", want: wantDouble, need: n, set: func(e *schemas.Event, v value) { e.Lon, e.Has = v.real, e.Has|hasLon }},
	}
}

func kindEventField(t schemas.Topic) eventField {
	return eventField{name: "tipo", want: wantSymbol, need: always, set: func(e *schemas.Event, v value) { e.Kind = schemas.KindOf(t, v.text) }}
}

func telemetryEventFields() []eventField {
	return append(append(commonEventFields(), positionEventFields(inSchema)...), eventField{
		name: "velocidadeKmh", want: wantFloat,
		set: func(e *schemas.Event, v value) { e.SpeedKmh, e.Has = v.real, e.Has|schemas.HasSpeed },
	})
}

func rideEventFields() []eventField {
	return append(append(commonEventFields(), positionEventFields(optional)...),
		kindEventField(schemas.Rides),
		eventField{name: "regiao", want: wantText, set: func(e *schemas.Event, v value) { e.Ride.Region, e.Has = v.text, e.Has|schemas.HasRegion }},
		eventField{name: "categoria", want: wantText, set: func(e *schemas.Event, v value) { e.Ride.Category, e.Has = v.text, e.Has|schemas.HasCategory }},
		eventField{name: "multiplicador", want: wantMils, set: func(e *schemas.Event, v value) {
			e.Ride.Multiplier, e.Has = schemas.Mils(v.long), e.Has|schemas.HasMultiplier
		}},
		eventField{name: "rotaPrevista", want: wantArray, open: openRoute(func(e *schemas.Event, route []schemas.LatLon) {
			e.Ride.Route, e.Has = route, e.Has|schemas.HasRoute
		})},
	)
}

func paymentEventFields() []eventField {
	return append(commonEventFields(),
		kindEventField(schemas.Payments),
		eventField{name: "valor", want: wantCents, need: always, set: func(e *schemas.Event, v value) { e.Payment.Amount = schemas.Cents(v.long) }},
		eventField{name: "moeda", want: wantText, need: always, set: func(e *schemas.Event, v value) { e.Payment.Currency = v.text }},
		eventField{name: "meio", want: wantText, set: func(e *schemas.Event, v value) { e.Payment.Means = v.text }},
	)
}

// pointFields are those of one vertex of a planned route.
func pointFields() []field[schemas.LatLon] {
	return []field[schemas.LatLon]{
		{name: "latitude", want: wantDouble, need: always, set: func(p *schemas.LatLon, v value) { p.Lat = v.real }},
		{name: "longitude", want: wantDouble, need: always, set: func(p *schemas.LatLon, v value) { p.Lon = v.real }},
	}
}
