package schemas

// The whole records of the input topics, for the edges: event files, producers, the
// lake. Pointers are the contract's nullable fields. The meter itself reads Event.

// TelemetryRecord is Telemetria.
type TelemetryRecord struct {
	EventID    EventID  `json:"eventId"`
	TripID     TripID   `json:"tripId"`
	DriverID   string   `json:"motoristaId"` // pseudonym
	At         Millis   `json:"ocorridoEm"`
	Lat        float64  `json:"latitude"`
	Lon        float64  `json:"longitude"`
	SpeedKmh   *float32 `json:"velocidadeKmh,omitempty"`
	PrecisionM *float32 `json:"precisaoM,omitempty"`
	Device     *string  `json:"dispositivo,omitempty"`
	Rectifies  *EventID `json:"retifica,omitempty"`
}

// RideRecord is EventoCorrida.
type RideRecord struct {
	EventID     EventID  `json:"eventId"`
	TripID      TripID   `json:"tripId"`
	At          Millis   `json:"ocorridoEm"`
	Kind        string   `json:"tipo"` // enum symbol
	PassengerID *string  `json:"passageiroId,omitempty"`
	DriverID    *string  `json:"motoristaId,omitempty"`
	Region      *string  `json:"regiao,omitempty"`
	Category    *string  `json:"categoria,omitempty"`
	Multiplier  *Mils    `json:"multiplicador,omitempty"`
	Lat         *float64 `json:"latitude,omitempty"`
	Lon         *float64 `json:"longitude,omitempty"`
	Rating      *int32   `json:"nota,omitempty"`
	Route       []LatLon `json:"rotaPrevista,omitempty"` // nil = null
	Rectifies   *EventID `json:"retifica,omitempty"`
}

// PaymentRecord is EventoPagamento.
type PaymentRecord struct {
	EventID   EventID     `json:"eventId"`
	TripID    TripID      `json:"tripId"`
	At        Millis      `json:"ocorridoEm"`
	Kind      string      `json:"tipo"` // enum symbol
	Amount    Cents       `json:"valor"`
	Currency  string      `json:"moeda"`
	Means     *string     `json:"meio,omitempty"`
	CardID    *string     `json:"cartaoId,omitempty"` // pseudonym
	Rectifies *EventID    `json:"retifica,omitempty"`
	Bill      *BillRecord `json:"fatura,omitempty"`
}

// Issued is the bill that a FATURA record says; ok is false for any other payment.
func (r *PaymentRecord) Issued() (b Bill, ok bool) {
	f := r.Bill
	if f == nil {
		return Bill{}, false
	}
	b = Bill{TripID: r.TripID, EventID: r.EventID, Version: int(f.Version), Amount: r.Amount, Difference: r.Amount, Currency: r.Currency,
		DistanceMM: f.DistanceMM, DurationS: f.DurationS, TariffID: f.TariffID, Region: f.Region, Category: f.Category,
		Multiplier: f.Multiplier, Start: f.Start, End: f.End, Points: int(f.Points), Rejected: int(f.Rejected), Rectification: f.Rectification}
	if f.Motive != nil {
		b.Motive = Motive(*f.Motive)
	}
	if f.Difference != nil { // null on version 1
		b.Difference = *f.Difference
	}
	return b, true
}

// BillRecord is the fatura part of an EventoPagamento of kind FATURA.
type BillRecord struct {
	Version       int32   `json:"versao"`
	DistanceMM    int64   `json:"distanciaMM"`
	DurationS     int64   `json:"duracaoS"`
	TariffID      string  `json:"tarifaId"`
	Region        string  `json:"regiao"`
	Category      string  `json:"categoria"`
	Multiplier    Mils    `json:"multiplicador"`
	Start         Millis  `json:"inicio"`
	End           Millis  `json:"termino"`
	Points        int32   `json:"pontos"`
	Rejected      int32   `json:"descartados"`
	Rectification bool    `json:"retificacao"`
	Motive        *string `json:"motivo,omitempty"`
	Difference    *Cents  `json:"diferenca,omitempty"` // amount minus the previous version's; null on version 1
	CheckpointID  int64   `json:"checkpointId"`        // manifest number that made the outbox
}
