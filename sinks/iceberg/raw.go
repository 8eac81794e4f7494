package iceberg

import (
	"taximeter/checkpoint"
	"taximeter/schemas"
)

// raw is a row of a table of events: the record as its producer wrote it, and where it lay.
type raw[T any] struct {
	rec T
	origin
}

// origin is where a record lay in Kafka and what became of it.
type origin struct {
	verdict    schemas.Verdict
	partition  schemas.Partition
	offset     schemas.Offset
	appendedAt schemas.Millis
	made       checkpoint.Number
}

// columnOffset is not just "offset", which SQL reserves.
const (
	columnOffset     = "offset_kafka"
	columnCheckpoint = "checkpoint_id"
	columnTrip       = "trip_id"
	columnEventTime  = "ocorrido_em"
)

func originColumns[T any]() []column[raw[T]] {
	type row = raw[T]
	return []column[row]{
		verdict("veredito", "contado: on time; atrasado: within the allowed lateness; retificacao: later than that.", func(r *row) schemas.Verdict { return r.verdict }),
		integer("particao", "Kafka partition of the input topic.", func(r *row) schemas.Partition { return r.partition }),
		long(columnOffset, "Kafka offset; with particao it names the record.", func(r *row) schemas.Offset { return r.offset }),
		instant("gravado_em", "When the broker appended the record.", func(r *row) schemas.Millis { return r.appendedAt }),
		long(columnCheckpoint, "Number of the manifest that made the row.", func(r *row) checkpoint.Number { return r.made }),
	}
}

// telemetryTable is by far the largest; its buckets keep the files of a day's partition
// apart, so that a trip is found in a quarter of them.
func telemetryTable() *tableOf[raw[schemas.TelemetryRecord]] {
	type row = raw[schemas.TelemetryRecord]
	return newTable(shape{name: TableTelemetry, doc: "Accepted positions of vehicles, one row a record of corridas.telemetria.",
		day: columnEventTime, buckets: 4, sort: []string{columnTrip, columnEventTime}},
		[]column[row]{
			text("event_id", "Unique within the topic and trip.", func(r *row) schemas.EventID { return r.rec.EventID }),
			text(columnTrip, "The trip.", func(r *row) schemas.TripID { return r.rec.TripID }),
			text("motorista_id", "Pseudonym of the driver.", func(r *row) string { return r.rec.DriverID }),
			instant(columnEventTime, "Instant of the measurement by the device's clock (event time).", func(r *row) schemas.Millis { return r.rec.At }),
			double("latitude", "Degrees, WGS 84.", func(r *row) float64 { return r.rec.Lat }),
			double("longitude", "Degrees, WGS 84.", func(r *row) float64 { return r.rec.Lon }),
			optFloat("velocidade_kmh", "Speed that the device reports, km/h.", func(r *row) *float32 { return r.rec.SpeedKmh }),
			optFloat("precisao_m", "Radius of the position's uncertainty, metres.", func(r *row) *float32 { return r.rec.PrecisionM }),
			optText("dispositivo", "Model or version of the device.", func(r *row) *string { return r.rec.Device }),
			optText("retifica", "event_id of the event that this one replaces.", func(r *row) *schemas.EventID { return r.rec.Rectifies }),
		}, originColumns[schemas.TelemetryRecord]())
}

func rideTable() *tableOf[raw[schemas.RideRecord]] {
	type row = raw[schemas.RideRecord]
	return newTable(shape{name: TableRides, doc: "Accepted steps of rides, one row a record of corridas.eventos.",
		day: columnEventTime, sort: []string{columnTrip, columnEventTime}},
		[]column[row]{
			text("event_id", "Unique within the topic and trip.", func(r *row) schemas.EventID { return r.rec.EventID }),
			text(columnTrip, "The trip.", func(r *row) schemas.TripID { return r.rec.TripID }),
			instant(columnEventTime, "Instant of the step (event time).", func(r *row) schemas.Millis { return r.rec.At }),
			text("tipo", "Step of the trip, as written: also a symbol that taximeter does not know.", func(r *row) string { return r.rec.Kind }),
			optText("passageiro_id", "Pseudonym of the passenger.", func(r *row) *string { return r.rec.PassengerID }),
			optText("motorista_id", "Pseudonym of the driver.", func(r *row) *string { return r.rec.DriverID }),
			optText("regiao", "Pricing region.", func(r *row) *string { return r.rec.Region }),
			optText("categoria", "Class of service.", func(r *row) *string { return r.rec.Category }),
			optDecimal("multiplicador", "Surge multiplier.", milsType, func(r *row) *schemas.Mils { return r.rec.Multiplier }),
			optDouble("latitude", "Degrees, WGS 84.", func(r *row) *float64 { return r.rec.Lat }),
			optDouble("longitude", "Degrees, WGS 84.", func(r *row) *float64 { return r.rec.Lon }),
			optInteger("nota", "Rating given; AVALIACAO only.", func(r *row) *int32 { return r.rec.Rating }),
			route("rota_prevista", "Planned route, in travel order.", func(r *row) []schemas.LatLon { return r.rec.Route }),
			optText("retifica", "event_id of the event that this one replaces.", func(r *row) *schemas.EventID { return r.rec.Rectifies }),
		}, originColumns[schemas.RideRecord]())
}

// paymentTable has no bill's columns: a FATURA is never an accepted event; bills are in
// their own tables.
func paymentTable() *tableOf[raw[schemas.PaymentRecord]] {
	type row = raw[schemas.PaymentRecord]
	return newTable(shape{name: TablePayments, doc: "Accepted steps of payments, one row a record of pagamentos.eventos; bills are in faturas.",
		day: columnEventTime, sort: []string{columnTrip, columnEventTime}},
		[]column[row]{
			text("event_id", "Unique within the topic and trip.", func(r *row) schemas.EventID { return r.rec.EventID }),
			text(columnTrip, "The trip.", func(r *row) schemas.TripID { return r.rec.TripID }),
			instant(columnEventTime, "Instant of the step (event time).", func(r *row) schemas.Millis { return r.rec.At }),
			text("tipo", "Step of the payment, as written: also a symbol that taximeter does not know.", func(r *row) string { return r.rec.Kind }),
			decimal("valor", "Amount; never negative, a refund is ESTORNO.", centsType, func(r *row) schemas.Cents { return r.rec.Amount }),
			text("moeda", "Currency, ISO 4217.", func(r *row) string { return r.rec.Currency }),
			optText("meio", "Means of payment; DINHEIRO is cash.", func(r *row) *string { return r.rec.Means }),
			optText("cartao_id", "Pseudonym of the card.", func(r *row) *string { return r.rec.CardID }),
			optText("retifica", "event_id of the event that this one replaces.", func(r *row) *schemas.EventID { return r.rec.Rectifies }),
		}, originColumns[schemas.PaymentRecord]())
}
