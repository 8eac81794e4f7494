package codec

import (
	"fmt"

	"taximeter/schemas"
)

// Each Append writes one value of a contract, framed with the id under which the registry
// holds that contract, behind dst. The bytes depend on the arguments alone. A record that
// the contract cannot hold (an amount of too many digits, an unknown symbol, text that is
// not UTF-8) gives back dst and an error that wraps ErrEncode.

// Symbols of the contracts' enums, in their order.
var (
	rideSymbols    = []string{"SOLICITACAO", "MATCH", "INICIO", "TERMINO", "CANCELAMENTO", "AVALIACAO", "ANULACAO", "DESCONHECIDO"}
	paymentSymbols = []string{"FATURA", "AUTORIZACAO", "CAPTURA", "ESTORNO", "ANULACAO", "DESCONHECIDO"}
)

// AppendTelemetry writes a Telemetria.
func AppendTelemetry(dst []byte, schemaID int, r *schemas.TelemetryRecord) ([]byte, error) {
	w := writer{b: appendFrame(dst, schemaID)}
	w.text("eventId", string(r.EventID))
	w.text("tripId", string(r.TripID))
	w.text("motoristaId", r.DriverID)
	w.long(int64(r.At))
	w.double(r.Lat)
	w.double(r.Lon)
	if nullable(&w, r.SpeedKmh) {
		w.float(*r.SpeedKmh)
	}
	if nullable(&w, r.PrecisionM) {
		w.float(*r.PrecisionM)
	}
	nullableText(&w, "dispositivo", r.Device)
	nullableText(&w, "retifica", r.Rectifies)
	return w.finish(dst)
}

// AppendRide writes an EventoCorrida.
func AppendRide(dst []byte, schemaID int, r *schemas.RideRecord) ([]byte, error) {
	w := writer{b: appendFrame(dst, schemaID)}
	w.text("eventId", string(r.EventID))
	w.text("tripId", string(r.TripID))
	w.long(int64(r.At))
	w.symbol("tipo", r.Kind, rideSymbols)
	nullableText(&w, "passageiroId", r.PassengerID)
	nullableText(&w, "motoristaId", r.DriverID)
	nullableText(&w, "regiao", r.Region)
	nullableText(&w, "categoria", r.Category)
	if nullable(&w, r.Multiplier) {
		w.decimal("multiplicador", int64(*r.Multiplier), int64(schemas.MaxMils))
	}
	if nullable(&w, r.Lat) {
		w.double(*r.Lat)
	}
	if nullable(&w, r.Lon) {
		w.double(*r.Lon)
	}
	if nullable(&w, r.Rating) {
		w.long(int64(*r.Rating))
	}
	w.route(r.Route)
	nullableText(&w, "retifica", r.Rectifies)
	return w.finish(dst)
}

func (w *writer) route(route []schemas.LatLon) {
	if route == nil {
		w.long(0)
		return
	}
	w.long(1)
	if len(route) > 0 {
		w.long(int64(len(route)))
	}
	for _, p := range route {
		w.double(p.Lat)
		w.double(p.Lon)
	}
	w.long(0)
}

// AppendPayment writes an EventoPagamento.
func AppendPayment(dst []byte, schemaID int, r *schemas.PaymentRecord) ([]byte, error) {
	w := writer{b: appendFrame(dst, schemaID)}
	w.text("eventId", string(r.EventID))
	w.text("tripId", string(r.TripID))
	w.long(int64(r.At))
	w.symbol("tipo", r.Kind, paymentSymbols)
	w.decimal("valor", int64(r.Amount), int64(schemas.MaxCents))
	w.text("moeda", r.Currency)
	nullableText(&w, "meio", r.Means)
	nullableText(&w, "cartaoId", r.CardID)
	nullableText(&w, "retifica", r.Rectifies)
	if nullable(&w, r.Bill) {
		w.bill(r.Bill)
	}
	return w.finish(dst)
}

func (w *writer) bill(b *schemas.BillRecord) {
	w.long(int64(b.Version))
	w.long(b.DistanceMM)
	w.long(b.DurationS)
	w.text("fatura.tarifaId", b.TariffID)
	w.text("fatura.regiao", b.Region)
	w.text("fatura.categoria", b.Category)
	w.decimal("fatura.multiplicador", int64(b.Multiplier), int64(schemas.MaxMils))
	w.long(int64(b.Start))
	w.long(int64(b.End))
	w.long(int64(b.Points))
	w.long(int64(b.Rejected))
	w.boolean(b.Rectification)
	nullableText(w, "fatura.motivo", b.Motive)
	if nullable(w, b.Difference) {
		w.decimal("fatura.diferenca", int64(*b.Difference), int64(schemas.MaxCents))
	}
	w.long(b.CheckpointID)
}

// AppendBill writes a bill as the FATURA of pagamentos.eventos that the checkpoint with
// that id publishes.
func AppendBill(dst []byte, schemaID int, b *schemas.Bill, checkpointID int64) ([]byte, error) {
	if b.Version != int(int32(b.Version)) || b.Points != int(int32(b.Points)) || b.Rejected != int(int32(b.Rejected)) {
		return dst, fmt.Errorf("%w: fatura.versao %d, pontos %d or descartados %d exceeds 32 bits", ErrEncode, b.Version, b.Points, b.Rejected)
	}
	rec := schemas.PaymentRecord{
		EventID:  b.EventID,
		TripID:   b.TripID,
		At:       b.End,
		Kind:     schemas.PayBill.String(),
		Amount:   b.Amount,
		Currency: b.Currency,
		Bill: &schemas.BillRecord{
			Version:       int32(b.Version),
			DistanceMM:    b.DistanceMM,
			DurationS:     b.DurationS,
			TariffID:      b.TariffID,
			Region:        b.Region,
			Category:      b.Category,
			Multiplier:    b.Multiplier,
			Start:         b.Start,
			End:           b.End,
			Points:        int32(b.Points),
			Rejected:      int32(b.Rejected),
			Rectification: b.Rectification,
			CheckpointID:  checkpointID,
		},
	}
	if b.Motive != schemas.MotiveNone {
		rec.Bill.Motive = ptr(string(b.Motive))
	}
	if b.Version > 1 {
		rec.Bill.Difference = &b.Difference
	}
	return AppendPayment(dst, schemaID, &rec)
}

// AppendWindow writes an AgregadoJanela that the checkpoint with that id publishes.
func AppendWindow(dst []byte, schemaID int, r *schemas.Window, checkpointID int64) ([]byte, error) {
	w := writer{b: appendFrame(dst, schemaID)}
	w.text("tripId", string(r.TripID))
	w.long(int64(r.Start))
	w.int("versao", int64(r.Version))
	w.int("pontos", int64(r.Points))
	w.int("descartados", int64(r.Rejected))
	w.long(r.DistanceMM)
	w.long(r.TimeMS)
	if nullable(&w, r.MaxKmh) {
		w.double(*r.MaxKmh)
	}
	if nullable(&w, r.MeanKmh) {
		w.double(*r.MeanKmh)
	}
	if nullable(&w, r.First) {
		w.long(int64(*r.First))
	}
	if nullable(&w, r.Last) {
		w.long(int64(*r.Last))
	}
	w.text("veredito", r.Verdict.String())
	w.long(checkpointID)
	return w.finish(dst)
}

// AppendAlert writes an Alerta.
func AppendAlert(dst []byte, schemaID int, r *schemas.Alert) ([]byte, error) {
	w := writer{b: appendFrame(dst, schemaID)}
	w.text("alertId", r.AlertID)
	w.text("regraId", r.RuleID)
	w.int("regraVersao", int64(r.RuleVersion))
	w.text("tipo", r.Kind)
	w.text("tripId", string(r.TripID))
	w.text("regiao", r.Region)
	w.text("categoria", r.Category)
	w.text("inicioEventId", string(r.OnsetID))
	w.long(int64(r.OnsetAt))
	w.long(int64(r.DecidedAt))
	w.textMap("detalhes", r.Details)
	return w.finish(dst)
}

// AppendTariff writes a Tarifa.
func AppendTariff(dst []byte, schemaID int, r *schemas.Tariff) ([]byte, error) {
	w := writer{b: appendFrame(dst, schemaID)}
	w.text("tarifaId", r.TariffID)
	w.text("regiao", r.Region)
	w.text("categoria", r.Category)
	w.long(int64(r.ValidFrom))
	w.text("moeda", r.Currency)
	w.decimal("bandeirada", int64(r.Base), int64(schemas.MaxMicros))
	w.decimal("precoKm", int64(r.PerKm), int64(schemas.MaxMicros))
	w.decimal("precoMin", int64(r.PerMin), int64(schemas.MaxMicros))
	w.decimal("minimo", int64(r.Minimum), int64(schemas.MaxMicros))
	w.decimal("taxaCancelamento", int64(r.CancelFee), int64(schemas.MaxMicros))
	w.int("carenciaS", int64(r.GraceS))
	return w.finish(dst)
}

// AppendRule writes a Regra.
func AppendRule(dst []byte, schemaID int, r *schemas.Rule) ([]byte, error) {
	w := writer{b: appendFrame(dst, schemaID)}
	w.text("regraId", r.RuleID)
	w.int("versao", int64(r.Version))
	w.text("tipo", r.Kind)
	w.boolean(r.Active)
	w.long(int64(r.ValidFrom))
	w.texts("regioes", r.Regions)
	w.texts("categorias", r.Categories)
	w.textMap("parametros", r.Params)
	return w.finish(dst)
}
