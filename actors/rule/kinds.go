package rule

import "taximeter/schemas"

// kind is one kind of rule; as bits, so that a book knows at once which steps concern it.
type kind uint8

const (
	stop         kind = 1 << iota // parada
	detour                        // desvio
	speeding                      // velocidade
	silence                       // sem_sinal
	doubleCharge                  // cobranca_duplicada
	condition                     // expressao

	none       kind = 0
	pointKinds      = stop | detour | speeding
	// lastKind is the greatest single kind that an episode can be of.
	lastKind = condition
)

// kindSpec is a kind's name and parameters in the contract.
type kindSpec struct {
	kind   kind
	name   string
	params []paramSpec
}

// paramSpec says how one parameter is read: a decimal of the given places within
// [min, max], both scaled by 10^places, that set stores.
type paramSpec struct {
	name     string
	meaning  string // after "write": what a good value is
	fallback string // used when the parameter is missing; "" = it is required
	places   int
	min, max int64
	set      func(v *version, scaled int64)
}

var kindSpecs = [...]kindSpec{
	{stop, "parada", []paramSpec{
		metres("raioM", "50", setLimit),
		{"duracaoMin", "minutes such as 10 or 2.5, at most 10080", "10", 3, 1, 10080_000, setMinutes},
	}},
	{detour, "desvio", []paramSpec{metres("limiarM", "", setLimit), points}},
	{speeding, "velocidade", []paramSpec{
		{"limiarKmh", "km/h such as 80, at most 1000", "", 3, 1, 1000_000, setLimit},
		points,
	}},
	{silence, "sem_sinal", []paramSpec{
		{"duracaoMin", "minutes such as 5 or 2.5, at most 10080", "", 3, 1, 10080_000, setMinutes},
	}},
	{doubleCharge, "cobranca_duplicada", []paramSpec{
		{"segundos", "seconds such as 5 or 0.5, at most 86400", "5", 3, 0, 86400_000,
			func(v *version, scaled int64) { v.duration = schemas.Millis(scaled) }},
	}},
	{condition, "expressao", nil}, // its one parameter is text: see compileText
}

// textParam is the parameter of an expressao rule.
const textParam = "expressao"

var points = paramSpec{"pontos", "a whole number of points such as 3, at most 1000", "", 0, 1, 1000,
	func(v *version, scaled int64) { v.points = int32(scaled) }}

func metres(name, fallback string, set func(*version, int64)) paramSpec {
	return paramSpec{name, "metres such as 50 or 12.5, at most 1000000", fallback, 3, 1, 1_000_000_000, set}
}

func setLimit(v *version, scaled int64)   { v.limit = float64(scaled) / 1000 }
func setMinutes(v *version, scaled int64) { v.duration = schemas.Millis(scaled * 60) } // thousandths of a minute

// specOf finds a kind by its name in the contract; nil = there is none.
func specOf(name string) *kindSpec {
	for i := range kindSpecs {
		if kindSpecs[i].name == name {
			return &kindSpecs[i]
		}
	}
	return nil
}

func (k kind) String() string {
	for i := range kindSpecs {
		if kindSpecs[i].kind == k {
			return kindSpecs[i].name
		}
	}
	return "?"
}

// paramNames lists the parameters a kind takes.
func (s *kindSpec) paramNames() []string {
	if s.kind == condition {
		return []string{textParam}
	}
	names := make([]string, len(s.params))
	for i := range s.params {
		names[i] = s.params[i].name
	}
	return names
}

// Kinds are the names of all kinds.
func Kinds() []string {
	names := make([]string, len(kindSpecs))
	for i := range kindSpecs {
		names[i] = kindSpecs[i].name
	}
	return names
}
