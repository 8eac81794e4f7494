package schemas

import (
	"errors"
	"fmt"
	"slices"
)

// Verdict is what became of one consumed record. Every record gets exactly one;
// per partition, the counts of all verdicts plus the control offsets sum to the
// offsets consumed.
type Verdict uint8

const (
	Counted   Verdict = iota // contado: on time
	Late                     // atrasado: within the allowed lateness
	Rectified                // retificacao: later than that, the window is computed again
	Duplicate                // duplicado
	Own                      // proprio: our own bill read back
	// Dead-letter verdicts, in the order of the checks.
	DLQUnreadable
	DLQUnknownSchema
	DLQNoTripID
	DLQNoEventID
	DLQKeyDiffers
	DLQBadInstant
	DLQBadPosition
	DLQClockAhead
	DLQForeignBill
	DLQBeyondHorizon
	DLQTrackTooLong
	DLQPanic
	NumVerdicts
)

var verdictNames = [NumVerdicts]string{
	"contado", "atrasado", "retificacao", "duplicado", "proprio",
	"dlq:ilegivel", "dlq:esquema_desconhecido", "dlq:sem_trip_id", "dlq:sem_event_id", "dlq:chave_diferente",
	"dlq:ocorrido_em_invalido", "dlq:coordenadas_invalidas", "dlq:relogio_adiantado", "dlq:fatura_estranha",
	"dlq:alem_do_horizonte", "dlq:trajeto_excessivo", "dlq:panico",
}

// String is the contract's word, such as "dlq:relogio_adiantado".
func (v Verdict) String() string {
	if v < NumVerdicts {
		return verdictNames[v]
	}
	return "?"
}

// MarshalText writes the contract's word.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// ErrVerdict is what a word that names no verdict wraps.
var ErrVerdict = errors.New("not a verdict")

// UnmarshalText reads what MarshalText wrote.
func (v *Verdict) UnmarshalText(b []byte) error {
	i := slices.Index(verdictNames[:], string(b))
	if i < 0 {
		return fmt.Errorf("%w: %q", ErrVerdict, b)
	}
	*v = Verdict(i)
	return nil
}

// DeadLetter reports whether the record went to the dead-letter topic.
func (v Verdict) DeadLetter() bool { return v >= DLQUnreadable && v < NumVerdicts }

// Accepted reports whether the record had its effect on the trip and on time.
func (v Verdict) Accepted() bool { return v <= Rectified }

// MinInstant is the earliest ocorridoEm taken: 2000-01-01T00:00:00Z.
const MinInstant Millis = 946_684_800_000

// MaxText is the most bytes of a text of an event. Ids, region and category become keys and rows of
// results, and what a destination can never take (an index of PostgreSQL has 2,704 bytes an entry, a
// record of Kafka a million) would stop its partition for ever.
const MaxText = 1024

// CheckEvent is the first check of a decoded record, the same for Kafka and for files: no text beyond
// what results can carry (DLQUnreadable), ids present, key equal to the trip, instant and telemetry position plausible.
// key nil means that the source has no keys; a Kafka record without one has the key "". The
// result is Counted when all holds.
func CheckEvent(e *Event, key []byte) Verdict {
	switch {
	case max(len(e.TripID), len(e.EventID), len(e.Rectifies), len(e.Ride.Region), len(e.Ride.Category), len(e.Payment.Currency), len(e.Payment.Means)) > MaxText:
		return DLQUnreadable
	case e.TripID == "":
		return DLQNoTripID
	case e.EventID == "":
		return DLQNoEventID
	case key != nil && string(key) != string(e.TripID):
		return DLQKeyDiffers
	case e.At < MinInstant:
		return DLQBadInstant
	case e.Topic == Telemetry && !e.Valid():
		return DLQBadPosition
	}
	return Counted
}

// Valid reports whether the position is on Earth and is not the (0,0) that devices
// send when they have no fix. NaN and infinities are not.
func (p LatLon) Valid() bool {
	return p.Lat >= -90 && p.Lat <= 90 && p.Lon >= -180 && p.Lon <= 180 && !(p.Lat == 0 && p.Lon == 0)
}
