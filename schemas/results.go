package schemas

// Window is one five-minute aggregate of one trip (AgregadoJanela). Results are keyed
// (TripID, Start); the highest Version stands.
type Window struct {
	TripID     TripID   `json:"tripId"`
	Start      Millis   `json:"janelaInicio"` // [Start, Start + 5 min)
	Version    int      `json:"versao"`
	Points     int      `json:"pontos"`      // accepted
	Rejected   int      `json:"descartados"` // refused by the track filter
	DistanceMM int64    `json:"distanciaMM"`
	TimeMS     int64    `json:"tempoMs"` // sum of its segments' times
	MaxKmh     *float64 `json:"velocidadeMaxKmh"`
	MeanKmh    *float64 `json:"velocidadeMediaKmh"` // distance / time of its segments; nil without time
	First      *Millis  `json:"primeiro"`           // first accepted instant; nil without accepted points
	Last       *Millis  `json:"ultimo"`
	Verdict    Verdict  `json:"veredito"` // of the event that caused this version; contado at the window's close
}

// Motive says why a bill is not a plain one.
type Motive string

const (
	MotiveNone        Motive = ""
	MotiveCancelled   Motive = "cancelada"
	MotiveVoided      Motive = "anulada"
	MotiveNoStartSeen Motive = "inicio_inferido"
)

// Bill is one version of a trip's bill (the FATURA of pagamentos.eventos).
type Bill struct {
	TripID        TripID  `json:"tripId"`
	EventID       EventID `json:"eventId"` // BillEventID(TripID, Version)
	Version       int     `json:"versao"`
	Amount        Cents   `json:"valor"`
	Difference    Cents   `json:"diferenca"` // Amount minus the previous version's
	Currency      string  `json:"moeda"`
	DistanceMM    int64   `json:"distanciaMM"`
	DurationS     int64   `json:"duracaoS"`
	TariffID      string  `json:"tarifaId"`
	Region        string  `json:"regiao"`
	Category      string  `json:"categoria"`
	Multiplier    Mils    `json:"multiplicador"`
	Start         Millis  `json:"inicio"`
	End           Millis  `json:"termino"`
	Points        int     `json:"pontos"` // accepted points within [Start, End]
	Rejected      int     `json:"descartados"`
	Rectification bool    `json:"retificacao"`
	Motive        Motive  `json:"motivo,omitempty"`
}

// Alert tells one fact once. Its content is fixed by event time, so that a replay says the same.
type Alert struct {
	AlertID     string            `json:"alertId"`
	RuleID      string            `json:"regraId"`
	RuleVersion int               `json:"regraVersao"`
	Kind        string            `json:"tipo"`
	TripID      TripID            `json:"tripId"`
	Region      string            `json:"regiao"`
	Category    string            `json:"categoria"`
	OnsetID     EventID           `json:"inicioEventId"`
	OnsetAt     Millis            `json:"inicioEm"`
	DecidedAt   Millis            `json:"decididoEm"` // event time of the deciding event, or the watermark
	Details     map[string]string `json:"detalhes,omitempty"`
}

// SentAlert is what the log of sent alerts tells of one. RuleID and TripID are empty where the
// log was written before they were kept.
type SentAlert struct {
	AlertID string
	RuleID  string
	TripID  TripID
}

// DeadLetter is a record that could not be taken, with its reason and its original bytes.
type DeadLetter struct {
	Topic      Topic
	Partition  Partition
	Offset     Offset
	Reason     Verdict
	Detail     string
	TripID     TripID
	EventID    EventID
	AppendedAt Millis
	Key, Value []byte
}

// AnomalyKind names something odd that cost nobody a bill but that people must see.
type AnomalyKind uint8

const (
	AnomalyIDReused        AnomalyKind = iota // id_reutilizado: same eventId, other content
	AnomalyBadRidePosition                    // posicao_invalida: a ride event's coordinates were nulled
	AnomalyUnknownKind                        // tipo_desconhecido
	AnomalyExtraStart                         // inicio_extra
	AnomalyExtraEnd                           // termino_extra
	AnomalyEndBeforeStart                     // termino_antes_do_inicio
	AnomalyNoTariff                           // sem_tarifa
	AnomalyNoEnd                              // sem_termino
	AnomalyAbandoned                          // abandonada
	AnomalyRuleFailed                         // regra_falhou: an expression could not be evaluated
	AnomalyAmountTooLarge                     // valor_excessivo: more than decimal(12,2) holds; no bill
	NumAnomalies
)

var anomalyNames = [NumAnomalies]string{"id_reutilizado", "posicao_invalida", "tipo_desconhecido", "inicio_extra",
	"termino_extra", "termino_antes_do_inicio", "sem_tarifa", "sem_termino", "abandonada", "regra_falhou", "valor_excessivo"}

func (k AnomalyKind) String() string {
	if k < NumAnomalies {
		return anomalyNames[k]
	}
	return "?"
}

// Anomaly is one such thing, on one trip.
type Anomaly struct {
	Kind    AnomalyKind
	TripID  TripID
	EventID EventID // the event that shows it; may be ""
}

// NoRecord stands in a VerdictRun for offsets that held no record for us: transaction
// markers, aborted records, and what an operator skipped.
const NoRecord = NumVerdicts

// VerdictRun is consecutive offsets of one topic with the same verdict, or NoRecord.
type VerdictRun struct {
	Verdict Verdict
	Length  int64
}

// VerdictSpan says what became of each offset of one topic from First on, without a gap.
// With the topic itself it gives back every accepted event.
type VerdictSpan struct {
	Topic Topic
	First Offset
	Runs  []VerdictRun // neighbours differ; none is empty
}

// Next is the first offset after the span.
func (s *VerdictSpan) Next() Offset {
	next := s.First
	for _, r := range s.Runs {
		next += Offset(r.Length)
	}
	return next
}

// TripSummary is a trip as it stood at a cut, for tables that people read.
type TripSummary struct {
	TripID         TripID
	Phase          string // aguardando, em_curso, encerrada, cancelada
	Region         string // "" = unknown yet
	Category       string // "" = unknown yet
	Start          Millis // NoTime = not started
	End            Millis // NoTime = not ended
	StartInferred  bool
	DistanceMM     int64 // from the start until the end, or so far
	DurationS      int64
	Points         int // accepted points within [Start, End]
	Rejected       int
	BillVersion    int // 0 = no bill
	Amount         Cents
	Currency       string
	Motive         Motive
	Reconciliation string // ok, divergente, nao_paga, ...; see trip.State.Reconcile
}

// Outbox is what one entry of a checkpoint publishes: in emission order, byte for byte
// the same on every retry.
type Outbox struct {
	Bills       []Bill
	Windows     []Window
	DeadLetters []DeadLetter
	// For the sinks that are switched on, and empty without them.
	Verdicts []VerdictSpan // by topic, ascending
	Trips    []TripSummary // every trip that changed, once, in no order
}

// Silent reports whether there is nothing for Kafka.
func (o *Outbox) Silent() bool { return len(o.Bills)+len(o.Windows)+len(o.DeadLetters) == 0 }

// Empty reports whether there is nothing for anyone.
func (o *Outbox) Empty() bool { return o.Silent() && len(o.Verdicts)+len(o.Trips) == 0 }
