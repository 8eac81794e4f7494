package expression

import (
	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"taximeter/actors/rule"
	"taximeter/schemas"
)

// feature is one name that an expression may read: by exactly one of the functions, as its
// type says.
type feature struct {
	name   string
	text   func(moment) string
	truth  func(moment) bool
	whole  func(moment) int64
	double func(moment) float64
}

// moment is what an expression is evaluated over: a trip's facts and the event time of its
// newest event.
type moment struct {
	facts *rule.Facts
	at    schemas.Millis
}

// features are all the names there are. Instants are epoch milliseconds, 0 = not known.
var features = []feature{
	{name: "corrida", text: func(m moment) string { return string(m.facts.TripID) }},
	{name: "regiao", text: func(m moment) string { return m.facts.Region }},      // "" = not known
	{name: "categoria", text: func(m moment) string { return m.facts.Category }}, // "" = not known
	{name: "em_andamento", truth: func(m moment) bool { return m.facts.InProgress() }},

	{name: "instante_ms", whole: func(m moment) int64 { return instant(m.at) }}, // event time of the newest event
	{name: "inicio_ms", whole: func(m moment) int64 { return instant(m.facts.Start) }},
	{name: "termino_ms", whole: func(m moment) int64 { return instant(m.facts.End) }},
	{name: "ultimo_ponto_ms", whole: func(m moment) int64 { return instant(m.facts.LastAt) }},

	{name: "latitude", double: func(m moment) float64 { return m.facts.Last.Lat }},                                            // degrees, newest point
	{name: "longitude", double: func(m moment) float64 { return m.facts.Last.Lon }},                                           // degrees, newest point
	{name: "velocidade_kmh", double: func(m moment) float64 { return m.facts.SpeedKmh }},                                      // newest point; 0 = not known
	{name: "distancia_m", double: func(m moment) float64 { return float64(m.facts.DistanceMM) / 1000 }},                       // metres so far
	{name: "duracao_s", whole: func(m moment) int64 { return m.facts.DurationS }},                                             // seconds so far
	{name: "pontos", whole: func(m moment) int64 { return m.facts.Points }},                                                   // accepted
	{name: "descartados", whole: func(m moment) int64 { return m.facts.Rejected }},                                            // refused by the track filter
	{name: "multiplicador", double: func(m moment) float64 { return float64(m.facts.Multiplier) / float64(schemas.OneMils) }}, // 1.0 = none
	{name: "autorizado_centavos", whole: func(m moment) int64 { return int64(m.facts.Authorized) }},                           // 1/100 of the currency
	{name: "capturado_centavos", whole: func(m moment) int64 { return int64(m.facts.Captured) }},                              // less refunds
}

func instant(t schemas.Millis) int64 { return int64(max(t, 0)) } // NoTime is negative

// celType is the type that CEL checks uses of the feature against.
func (f *feature) celType() *cel.Type {
	switch {
	case f.text != nil:
		return cel.StringType
	case f.truth != nil:
		return cel.BoolType
	case f.whole != nil:
		return cel.IntType
	}
	return cel.DoubleType
}

// celValue is the feature at a moment as CEL knows it.
func (f *feature) celValue(m moment) ref.Val {
	switch {
	case f.text != nil:
		return types.String(f.text(m))
	case f.truth != nil:
		return types.Bool(f.truth(m))
	case f.whole != nil:
		return types.Int(f.whole(m))
	}
	return types.Double(f.double(m))
}
