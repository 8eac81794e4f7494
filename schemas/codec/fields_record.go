package codec

import "taximeter/schemas"

// The whole records of the contracts. Their needs are those of the meter, so that the
// edges take every event that the meter took.

// symbolOf is how an enum symbol is read.
type symbolOf func(schemas.Topic, string) string

// known reads a symbol that the contract does not know as DESCONHECIDO.
func known(t schemas.Topic, symbol string) string { return schemas.KindOf(t, symbol).String() }

// verbatim reads any symbol as its writer wrote it.
func verbatim(_ schemas.Topic, symbol string) string { return symbol }

func telemetryFields() []field[schemas.TelemetryRecord] {
	type rec = schemas.TelemetryRecord
	return []field[rec]{
		{name: "eventId", want: wantText, need: inSchema, set: func(r *rec, v value) { r.EventID = schemas.EventID(v.text) }},
		{name: "tripId", want: wantText, need: inSchema, set: func(r *rec, v value) { r.TripID = schemas.TripID(v.text) }},
		{name: "motoristaId", want: wantText, set: func(r *rec, v value) { r.DriverID = v.text }},
		{name: "ocorridoEm", want: wantInstant, need: inSchema, set: func(r *rec, v value) { r.At = schemas.Millis(v.long) }},
		{name: "latitude", want: wantDouble, need: inSchema, set: func(r *rec, v value) { r.Lat = v.real }},
		{name: "longitude", want: wantDouble, need: inSchema, set: func(r *rec, v value) { r.Lon = v.real }},
		{name: "velocidadeKmh", want: wantFloat, set: func(r *rec, v value) { r.SpeedKmh = ptr(float32(v.real)) }},
		{name: "precisaoM", want: wantFloat, set: func(r *rec, v value) { r.PrecisionM = ptr(float32(v.real)) }},
		{name: "dispositivo", want: wantText, set: func(r *rec, v value) { r.Device = ptr(v.text) }},
		{name: "retifica", want: wantText, set: func(r *rec, v value) { r.Rectifies = ptr(schemas.EventID(v.text)) }},
	}
}

func rideFields(symbol symbolOf) []field[schemas.RideRecord] {
	type rec = schemas.RideRecord
	return []field[rec]{
		{name: "eventId", want: wantText, need: inSchema, set: func(r *rec, v value) { r.EventID = schemas.EventID(v.text) }},
		{name: "tripId", want: wantText, need: inSchema, set: func(r *rec, v value) { r.TripID = schemas.TripID(v.text) }},
		{name: "ocorridoEm", want: wantInstant, need: inSchema, set: func(r *rec, v value) { r.At = schemas.Millis(v.long) }},
		{name: "tipo", want: wantSymbol, need: always, set: func(r *rec, v value) { r.Kind = symbol(schemas.Rides, v.text) }},
		{name: "passageiroId", want: wantText, set: func(r *rec, v value) { r.PassengerID = ptr(v.text) }},
		{name: "motoristaId", want: wantText, set: func(r *rec, v value) { r.DriverID = ptr(v.text) }},
		{name: "regiao", want: wantText, set: func(r *rec, v value) { r.Region = ptr(v.text) }},
		{name: "categoria", want: wantText, set: func(r *rec, v value) { r.Category = ptr(v.text) }},
		{name: "multiplicador", want: wantMils, set: func(r *rec, v value) { r.Multiplier = ptr(schemas.Mils(v.long)) }},
		{name: "latitude", want: wantDouble, set: func(r *rec, v value) { r.Lat = ptr(v.real) }},
		{name: "longitude", want: wantDouble, set: func(r *rec, v value) { r.Lon = ptr(v.real) }},
		{name: "nota", want: wantInt, set: func(r *rec, v value) { r.Rating = ptr(int32(v.long)) }},
		{name: "rotaPrevista", want: wantArray, open: openRoute(func(r *rec, route []schemas.LatLon) { r.Route = route })},
		{name: "retifica", want: wantText, set: func(r *rec, v value) { r.Rectifies = ptr(schemas.EventID(v.text)) }},
	}
}

func paymentFields(symbol symbolOf) []field[schemas.PaymentRecord] {
	type rec = schemas.PaymentRecord
	return []field[rec]{
		{name: "eventId", want: wantText, need: inSchema, set: func(r *rec, v value) { r.EventID = schemas.EventID(v.text) }},
		{name: "tripId", want: wantText, need: inSchema, set: func(r *rec, v value) { r.TripID = schemas.TripID(v.text) }},
		{name: "ocorridoEm", want: wantInstant, need: inSchema, set: func(r *rec, v value) { r.At = schemas.Millis(v.long) }},
		{name: "tipo", want: wantSymbol, need: always, set: func(r *rec, v value) { r.Kind = symbol(schemas.Payments, v.text) }},
		{name: "valor", want: wantCents, need: always, set: func(r *rec, v value) { r.Amount = schemas.Cents(v.long) }},
		{name: "moeda", want: wantText, need: always, set: func(r *rec, v value) { r.Currency = v.text }},
		{name: "meio", want: wantText, set: func(r *rec, v value) { r.Means = ptr(v.text) }},
		{name: "cartaoId", want: wantText, set: func(r *rec, v value) { r.CardID = ptr(v.text) }},
		{name: "retifica", want: wantText, set: func(r *rec, v value) { r.Rectifies = ptr(schemas.EventID(v.text)) }},
		{name: "fatura", want: wantRecord, open: openRecord(billFields(), func(r *rec, b *schemas.BillRecord) { r.Bill = b })},
	}
}

func billFields() []field[schemas.BillRecord] {
	type rec = schemas.BillRecord
	return []field[rec]{
		{name: "versao", want: wantInt, need: always, set: func(r *rec, v value) { r.Version = int32(v.long) }},
		{name: "distanciaMM", want: wantLong, need: always, set: func(r *rec, v value) { r.DistanceMM = v.long }},
		{name: "duracaoS", want: wantLong, need: always, set: func(r *rec, v value) { r.DurationS = v.long }},
		{name: "tarifaId", want: wantText, need: always, set: func(r *rec, v value) { r.TariffID = v.text }},
		{name: "regiao", want: wantText, need: always, set: func(r *rec, v value) { r.Region = v.text }},
		{name: "categoria", want: wantText, need: always, set: func(r *rec, v value) { r.Category = v.text }},
		{name: "multiplicador", want: wantMils, need: always, set: func(r *rec, v value) { r.Multiplier = schemas.Mils(v.long) }},
		{name: "inicio", want: wantInstant, need: always, set: func(r *rec, v value) { r.Start = schemas.Millis(v.long) }},
		{name: "termino", want: wantInstant, need: always, set: func(r *rec, v value) { r.End = schemas.Millis(v.long) }},
		{name: "pontos", want: wantInt, need: always, set: func(r *rec, v value) { r.Points = int32(v.long) }},
		{name: "descartados", want: wantInt, need: always, set: func(r *rec, v value) { r.Rejected = int32(v.long) }},
		{name: "retificacao", want: wantBoolean, need: always, set: func(r *rec, v value) { r.Rectification = v.long == 1 }},
		{name: "motivo", want: wantText, set: func(r *rec, v value) { r.Motive = ptr(v.text) }},
		{name: "diferenca", want: wantCents, set: func(r *rec, v value) { r.Difference = ptr(schemas.Cents(v.long)) }},
		{name: "checkpointId", want: wantLong, need: always, set: func(r *rec, v value) { r.CheckpointID = v.long }},
	}
}

func tariffFields() []field[schemas.Tariff] {
	type rec = schemas.Tariff
	return []field[rec]{
		{name: "tarifaId", want: wantText, need: always, set: func(r *rec, v value) { r.TariffID = v.text }},
		{name: "regiao", want: wantText, need: always, set: func(r *rec, v value) { r.Region = v.text }},
		{name: "categoria", want: wantText, need: always, set: func(r *rec, v value) { r.Category = v.text }},
		{name: "vigenteDesde", want: wantInstant, need: always, set: func(r *rec, v value) { r.ValidFrom = schemas.Millis(v.long) }},
		{name: "moeda", want: wantText, need: always, set: func(r *rec, v value) { r.Currency = v.text }},
		{name: "bandeirada", want: wantMicros, need: always, set: func(r *rec, v value) { r.Base = schemas.Micros(v.long) }},
		{name: "precoKm", want: wantMicros, need: always, set: func(r *rec, v value) { r.PerKm = schemas.Micros(v.long) }},
		{name: "precoMin", want: wantMicros, need: always, set: func(r *rec, v value) { r.PerMin = schemas.Micros(v.long) }},
		{name: "minimo", want: wantMicros, need: always, set: func(r *rec, v value) { r.Minimum = schemas.Micros(v.long) }},
		{name: "taxaCancelamento", want: wantMicros, need: always, set: func(r *rec, v value) { r.CancelFee = schemas.Micros(v.long) }},
		{name: "carenciaS", want: wantInt, need: always, set: func(r *rec, v value) { r.GraceS = int(v.long) }},
	}
}

func ruleFields() []field[schemas.Rule] {
	type rec = schemas.Rule
	return []field[rec]{
		{name: "regraId", want: wantText, need: always, set: func(r *rec, v value) { r.RuleID = v.text }},
		{name: "versao", want: wantInt, need: always, set: func(r *rec, v value) { r.Version = int(v.long) }},
		{name: "tipo", want: wantText, need: always, set: func(r *rec, v value) { r.Kind = v.text }},
		{name: "ativa", want: wantBoolean, need: always, set: func(r *rec, v value) { r.Active = v.long == 1 }},
		{name: "vigenteDesde", want: wantInstant, need: always, set: func(r *rec, v value) { r.ValidFrom = schemas.Millis(v.long) }},
		{name: "regioes", want: wantArray, open: openTexts(func(r *rec, texts []string) { r.Regions = texts })},
		{name: "categorias", want: wantArray, open: openTexts(func(r *rec, texts []string) { r.Categories = texts })},
		{name: "parametros", want: wantMap, open: openTextMap(func(r *rec, texts map[string]string) { r.Params = texts })},
	}
}

func ptr[T any](v T) *T { return &v }
