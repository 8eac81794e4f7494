package iceberg

import (
	"taximeter/checkpoint"
	"taximeter/schemas"
)

// result is a version of a bill or window, and the manifest that made it.
type result[T any] struct {
	of   T
	made checkpoint.Number
}

const (
	columnBillStart   = "inicio"
	columnWindowStart = "janela_inicio"
	columnVersion     = "versao"
)

// billTable holds bills by the day of the trip's start, which a correction may move: see
// replace.go.
func billTable(name, doc string, key []string) *tableOf[result[schemas.Bill]] {
	type row = result[schemas.Bill]
	return newTable(shape{name: name, doc: doc, day: columnBillStart, sort: []string{columnTrip, columnVersion}, key: key},
		[]column[row]{
			text(columnTrip, "The trip.", func(r *row) schemas.TripID { return r.of.TripID }),
			text("event_id", "eventId of the bill on pagamentos.eventos.", func(r *row) schemas.EventID { return r.of.EventID }),
			integer(columnVersion, "1 for the first bill of the trip, +1 for each change.", func(r *row) int { return r.of.Version }),
			decimal("valor", "Amount owed, in all.", centsType, func(r *row) schemas.Cents { return r.of.Amount }),
			decimal("diferenca", "valor minus that of the previous version; of version 1 valor itself.", centsType, func(r *row) schemas.Cents { return r.of.Difference }),
			text("moeda", "Currency, ISO 4217.", func(r *row) string { return r.of.Currency }),
			long("distancia_mm", "Billable distance, millimetres.", func(r *row) int64 { return r.of.DistanceMM }),
			long("duracao_s", "From start to end of the trip, whole seconds.", func(r *row) int64 { return r.of.DurationS }),
			text("tarifa_id", "Tariff applied.", func(r *row) string { return r.of.TariffID }),
			text("regiao", "Region of the trip; empty while no event told.", func(r *row) string { return r.of.Region }),
			text("categoria", "Category of the trip; empty while no event told.", func(r *row) string { return r.of.Category }),
			decimal("multiplicador", "Surge multiplier applied.", milsType, func(r *row) schemas.Mils { return r.of.Multiplier }),
			instant(columnBillStart, "Start of the trip.", func(r *row) schemas.Millis { return r.of.Start }),
			instant("termino", "End of the trip.", func(r *row) schemas.Millis { return r.of.End }),
			integer("pontos", "Accepted positions within the trip.", func(r *row) int { return r.of.Points }),
			integer("descartados", "Positions refused by the track filter.", func(r *row) int { return r.of.Rejected }),
			boolean("retificacao", "True on every version after the first.", func(r *row) bool { return r.of.Rectification }),
			optText("motivo", "Why this is not a plain bill: cancelada, anulada, inicio_inferido.", func(r *row) *schemas.Motive { return zeroIsNull(r.of.Motive) }),
			long(columnCheckpoint, "Number of the manifest that made the version.", func(r *row) checkpoint.Number { return r.made }),
		})
}

func windowTable(name, doc string, key []string) *tableOf[result[schemas.Window]] {
	type row = result[schemas.Window]
	return newTable(shape{name: name, doc: doc, day: columnWindowStart, sort: []string{columnTrip, columnWindowStart, columnVersion}, key: key},
		[]column[row]{
			text(columnTrip, "The trip.", func(r *row) schemas.TripID { return r.of.TripID }),
			instant(columnWindowStart, "Start of the window [janela_inicio, +5 min).", func(r *row) schemas.Millis { return r.of.Start }),
			integer(columnVersion, "1 when the watermark closes the window, +1 for each change.", func(r *row) int { return r.of.Version }),
			integer("pontos", "Accepted positions.", func(r *row) int { return r.of.Points }),
			integer("descartados", "Positions refused by the track filter.", func(r *row) int { return r.of.Rejected }),
			long("distancia_mm", "Length of the segments that end in the window, millimetres.", func(r *row) int64 { return r.of.DistanceMM }),
			long("tempo_ms", "Time of those segments, milliseconds.", func(r *row) int64 { return r.of.TimeMS }),
			optDouble("velocidade_max_kmh", "Fastest of those segments, km/h.", func(r *row) *float64 { return r.of.MaxKmh }),
			optDouble("velocidade_media_kmh", "Their distance over their time, km/h.", func(r *row) *float64 { return r.of.MeanKmh }),
			optInstant("primeiro", "First accepted instant.", func(r *row) *schemas.Millis { return r.of.First }),
			optInstant("ultimo", "Last accepted instant.", func(r *row) *schemas.Millis { return r.of.Last }),
			verdict("veredito", "Of the event that caused the version: contado at the close, atrasado or retificacao after it.", func(r *row) schemas.Verdict { return r.of.Verdict }),
			long(columnCheckpoint, "Number of the manifest that made the version.", func(r *row) checkpoint.Number { return r.made }),
		})
}
