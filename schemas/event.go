package schemas

// Kind says what an event is: a position, one of the ride's steps, or one of the
// payment's.
type Kind uint8

const (
	KindUnknown      Kind = iota // DESCONHECIDO: no effect, voids nothing
	Position                     // every record of corridas.telemetria
	RideRequest                  // SOLICITACAO
	RideMatch                    // MATCH
	RideStart                    // INICIO
	RideEnd                      // TERMINO
	RideCancel                   // CANCELAMENTO
	RideRating                   // AVALIACAO
	PayBill                      // FATURA
	PayAuthorization             // AUTORIZACAO
	PayCapture                   // CAPTURA
	PayRefund                    // ESTORNO
	Void                         // ANULACAO, in both topics: the chain it ends has no effect
	numKinds
)

var kindNames = [numKinds]string{"DESCONHECIDO", "POSICAO", "SOLICITACAO", "MATCH", "INICIO", "TERMINO",
	"CANCELAMENTO", "AVALIACAO", "FATURA", "AUTORIZACAO", "CAPTURA", "ESTORNO", "ANULACAO"}

// String is the contract's enum symbol.
func (k Kind) String() string {
	if k < numKinds {
		return kindNames[k]
	}
	return "?"
}

// KindOf finds the kind that a symbol means in a topic; unknown symbols are KindUnknown.
func KindOf(t Topic, symbol string) Kind {
	for k := RideRequest; k < numKinds; k++ {
		if kindNames[k] == symbol && k.In(t) {
			return k
		}
	}
	return KindUnknown
}

// In reports whether events of this kind belong to topic t.
func (k Kind) In(t Topic) bool {
	switch t {
	case Telemetry:
		return k == Position
	case Rides:
		return k >= RideRequest && k <= RideRating || k == Void || k == KindUnknown
	case Payments:
		return k >= PayBill && k <= PayRefund || k == Void || k == KindUnknown
	}
	return false
}

// Fields is a set of the nullable fields that an event carries.
type Fields uint16

const (
	HasPosition   Fields = 1 << iota // both latitude and longitude
	HasSpeed                         // velocidadeKmh
	HasRegion                        // regiao
	HasCategory                      // categoria
	HasMultiplier                    // multiplicador
	HasRoute                         // rotaPrevista
)

func (f Fields) Has(x Fields) bool { return f&x != 0 }

// LatLon is a position in degrees, WGS 84.
type LatLon struct {
	Lat float64 `json:"latitude" avro:"latitude"`
	Lon float64 `json:"longitude" avro:"longitude"`
}

// Event is what the meter reads of one input record: the hot words, decoded.
//
// Strings and slices may alias the consumer's fetch buffer: whoever keeps one past
// the batch must clone it.
type Event struct {
	Topic     Topic
	Kind      Kind
	Has       Fields
	TripID    TripID
	EventID   EventID
	Rectifies EventID // retifica; "" = none
	At        Millis  // ocorridoEm

	LatLon           // valid when Has(HasPosition)
	SpeedKmh float64 // reported by the device; valid when Has(HasSpeed)

	Ride    RideDetail    // corridas.eventos only
	Payment PaymentDetail // pagamentos.eventos only
}

// RideDetail is what the meter reads of a ride event beside the common words.
type RideDetail struct {
	Region     string // regiao; valid when Has(HasRegion), may be ""
	Category   string // categoria
	Multiplier Mils   // multiplicador
	Route      []LatLon
}

// PaymentDetail is what the meter reads of a payment beside the common words.
type PaymentDetail struct {
	Amount   Cents
	Currency string
	Means    string // meio; DINHEIRO = cash
}

// Record is one consumed record on its way to the partition: where it stood, and
// either its event or the fault found while decoding it.
type Record struct {
	Event
	Offset     Offset
	AppendedAt Millis  // broker append time; NoTime = not known, the clock check is left out
	Fault      Verdict // Counted (zero) = decoded; else the dead-letter verdict
	Detail     string  // the fault in words
	Own        bool    // headers say that this taximeter namespace wrote it
	Key, Value []byte  // as consumed; for the dead-letter topic
}

// Batch is what one poll brought of one partition: records of the three input topics, each
// topic's in offset order, the topics among each other in the order of their append times.
type Batch struct {
	Partition Partition
	Records   []Record
	// Next is the first offset not consumed of each topic; control and aborted records
	// before it are consumed. What lies below where the reader stands says nothing.
	Next [NumInputs]Offset
}
