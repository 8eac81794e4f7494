package expression

import (
	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"taximeter/actors/rule"
	"taximeter/schemas"
)

// feature is one name that an expression may read.
type feature struct {
	name  string
	typ   *cel.Type
	value func(*moment) ref.Val
}

// moment is what an expression is evaluated over: a trip's facts and the event time of its
// newest event.
type moment struct {
	facts *rule.Facts
	at    schemas.Millis
}

// features are all the names there are. Instants are epoch milliseconds, 0 = not known.
var features = []feature{
	{"corrida", cel.StringType, func(m *moment) ref.Val { return types.String(m.facts.TripID) }},
	{"regiao", cel.StringType, func(m *moment) ref.Val { return types.String(m.facts.Region) }},      // "" = not known
	{"categoria", cel.StringType, func(m *moment) ref.Val { return types.String(m.facts.Category) }}, // "" = not known
	{"em_andamento", cel.BoolType, func(m *moment) ref.Val { return types.Bool(m.facts.InProgress()) }},

	{"instante_ms", cel.IntType, func(m *moment) ref.Val { return instant(m.at) }}, // event time of the newest event
	{"inicio_ms", cel.IntType, func(m *moment) ref.Val { return instant(m.facts.Start) }},
	{"termino_ms", cel.IntType, func(m *moment) ref.Val { return instant(m.facts.End) }},
	{"ultimo_ponto_ms", cel.IntType, func(m *moment) ref.Val { return instant(m.facts.LastAt) }},

	{"latitude", cel.DoubleType, func(m *moment) ref.Val { return types.Double(m.facts.Last.Lat) }},        // degrees, newest point
	{"longitude", cel.DoubleType, func(m *moment) ref.Val { return types.Double(m.facts.Last.Lon) }},       // degrees, newest point
	{"velocidade_kmh", cel.DoubleType, func(m *moment) ref.Val { return types.Double(m.facts.SpeedKmh) }},  // newest point; 0 = not known
	{"distancia_m", cel.DoubleType, func(m *moment) ref.Val { return types.Double(metres(m)) }},            // metres so far
	{"duracao_s", cel.IntType, func(m *moment) ref.Val { return types.Int(m.facts.DurationS) }},            // seconds so far
	{"pontos", cel.IntType, func(m *moment) ref.Val { return types.Int(m.facts.Points) }},                  // accepted
	{"descartados", cel.IntType, func(m *moment) ref.Val { return types.Int(m.facts.Rejected) }},           // refused by the track filter
	{"multiplicador", cel.DoubleType, func(m *moment) ref.Val { return types.Double(multiplier(m)) }},      // 1.0 = none
	{"autorizado_centavos", cel.IntType, func(m *moment) ref.Val { return types.Int(m.facts.Authorized) }}, // 1/100 of the currency
	{"capturado_centavos", cel.IntType, func(m *moment) ref.Val { return types.Int(m.facts.Captured) }},    // less refunds
}

func metres(m *moment) float64     { return float64(m.facts.DistanceMM) / 1000 }
func multiplier(m *moment) float64 { return float64(m.facts.Multiplier) / float64(schemas.OneMils) }

func instant(t schemas.Millis) ref.Val { return types.Int(max(t, 0)) } // NoTime is negative
