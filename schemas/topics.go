package schemas

// Topic is one of the three co-partitioned input topics.
type Topic uint8

const (
	Telemetry Topic = iota // corridas.telemetria
	Rides                  // corridas.eventos
	Payments               // pagamentos.eventos
	// NumInputs is the number of input topics; arrays indexed by Topic have this length.
	NumInputs = 3
)

// Topic names: the only place in the program where they are written down.
const (
	TopicTelemetry   = "corridas.telemetria"
	TopicRides       = "corridas.eventos"
	TopicPayments    = "pagamentos.eventos" // bills go out here too
	TopicAlerts      = "corridas.alertas"
	TopicUndelivered = "corridas.alertas.nao_entregues" // alerts that some channel has not got
	TopicWindows     = "corridas.agregados"
	TopicDLQ         = "corridas.dlq"
	TopicRules       = "corridas.regras"
	TopicTariffs     = "corridas.tarifas"
	TopicCommits     = "_taximeter.commits"       // one marker per partition and checkpoint entry
	TopicAlertIDs    = "_taximeter.alert-markers" // ids of alerts sent, one partition per task
	TopicRequeues    = "_taximeter.requeues"      // dead letters that were sent again
	TopicSchemas     = "_schemas"                 // the registry's own log
)

// Header names on records that taximeter writes.
const (
	HeaderFacts      = "taximeter-facts"      // in the log of sent alerts: their rules and trips, as JSON
	HeaderNamespace  = "taximeter-namespace"  // on bills: who wrote it; makes a re-read bill `proprio`
	HeaderCheckpoint = "taximeter-checkpoint" // manifest number that made the entry, decimal
	HeaderReason     = "taximeter-reason"     // on dead letters: the verdict, such as dlq:relogio_adiantado
	HeaderDetail     = "taximeter-detail"     // on dead letters: the error in words
	HeaderSource     = "taximeter-source"     // on dead letters: topic/partition/offset the record came from
	HeaderAppendedAt = "taximeter-appended-at"
	HeaderChannel    = "taximeter-channel"   // on undelivered alerts: the channel that has not got it
	HeaderRequeued   = "taximeter-requeued"  // on an input record sent again from the dead letters: their source
	HeaderTruncated  = "taximeter-truncated" // on dead letters cut to what a record holds: the original lengths
)

// Inputs lists the input topics in Topic order.
var Inputs = [NumInputs]Topic{Telemetry, Rides, Payments}

var inputNames = [NumInputs]string{TopicTelemetry, TopicRides, TopicPayments}

func (t Topic) String() string {
	if int(t) < len(inputNames) {
		return inputNames[t]
	}
	return "topic?"
}

// InputTopic finds the input topic of that name.
func InputTopic(name string) (Topic, bool) {
	for i, n := range inputNames {
		if n == name {
			return Topic(i), true
		}
	}
	return 0, false
}
