package rule

import "taximeter/schemas"

// Facts is what rules may look at: the trip as it stands after the event that is being
// decided. Instants that are not known are zero or schemas.NoTime.
//
// Beside each field, the name under which an expression reads it; package expression
// declares their types.
type Facts struct {
	TripID   schemas.TripID // corrida
	Region   string         // regiao; "" = not known
	Category string         // categoria; "" = not known

	Start   schemas.Millis  // inicio_ms; the trip is in progress once it is known,
	End     schemas.Millis  // termino_ms; until this is
	StartID schemas.EventID // the event that Start was taken from

	LastAt schemas.Millis  // ultimo_ponto_ms; newest accepted point
	LastID schemas.EventID // its event; OnWatermark alone looks at it
	Last   schemas.LatLon  // latitude, longitude

	SpeedKmh   float64       // velocidade_kmh; at the newest point; 0 = not known
	DistanceMM int64         // distancia_m, in metres; so far
	DurationS  int64         // duracao_s; so far
	Points     int64         // pontos; accepted
	Rejected   int64         // descartados; refused by the track filter
	Multiplier schemas.Mils  // multiplicador, as a number
	Authorized schemas.Cents // autorizado_centavos
	Captured   schemas.Cents // capturado_centavos; less what was refunded

	Route []schemas.LatLon // rotaPrevista; not readable by expressions
}

// Point is an accepted telemetry point on its arrival.
type Point struct {
	ID schemas.EventID
	At schemas.Millis
	schemas.LatLon
	// SpeedKmh is what the device reported, else what the track makes of it; negative =
	// neither is known, which ends a run of speeding.
	SpeedKmh float64
}

// SpeedUnknown is the SpeedKmh of a point without one.
const SpeedUnknown = -1.0

// Payment is an effective AUTORIZACAO.
type Payment struct {
	ID     schemas.EventID
	At     schemas.Millis
	Amount schemas.Cents
}

// Emitter takes what the rules decide, in the caller's goroutine and before the step returns.
type Emitter interface {
	// Alert's content is the receiver's to keep: nothing in it aliases the event.
	Alert(schemas.Alert)
	// RuleFailed tells of an expression that could not be evaluated; its episode stays as
	// it was. Facts that break an expression tend to stay: expect one call per event.
	RuleFailed(Failure)
}

// Failure is one evaluation that gave an error instead of an answer. EventID is the event's
// own string and may alias its buffer.
type Failure struct {
	RuleID  string
	Version int
	TripID  schemas.TripID
	EventID schemas.EventID
	Err     error
}

// Anomaly is the failure as the trip counts it.
func (f Failure) Anomaly() schemas.Anomaly {
	return schemas.Anomaly{Kind: schemas.AnomalyRuleFailed, TripID: f.TripID, EventID: f.EventID}
}

// Expression is a compiled condition. Partitions share it, so Holds must be safe for
// concurrent use; it must depend on its arguments only and never panic.
type Expression interface {
	Holds(f *Facts, at schemas.Millis) (bool, error)
}

// ExpressionCompiler compiles the text of an `expressao` rule. Its errors say where in the
// text the fault is.
type ExpressionCompiler func(text string) (Expression, error)

// started and ended are false for zero and NoTime; accepted instants are after 2000.
func (f *Facts) started() bool { return f.Start > 0 }
func (f *Facts) ended() bool   { return f.End > 0 }

// InProgress reports whether the trip has started and not ended, as far as is known.
func (f *Facts) InProgress() bool { return f.started() && !f.ended() }

// inProgressAt is whether the trip was in progress at t by what is known now. It asks
// event time and not arrival, because the end may come before the last points do.
func (f *Facts) inProgressAt(t schemas.Millis) bool {
	return f.started() && t >= f.Start && (!f.ended() || t <= f.End)
}
