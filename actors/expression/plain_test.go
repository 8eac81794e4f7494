package expression

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"taximeter/actors/rule"
	"taximeter/schemas"
)

// randomly writes conditions of which plain code knows most.
type randomly struct{ *rand.Rand }

func (r randomly) pick(of ...string) string { return of[r.IntN(len(of))] }

func (r randomly) number() string {
	switch r.IntN(6) {
	case 0:
		return strconv.Itoa(r.IntN(5) - 2)
	case 1:
		return r.pick("9007199254740992", "9007199254740993", "-9007199254740993", "9223372036854775807")
	case 2:
		return r.pick("0.0", "1.5", "-2.0", "9007199254740992.0", "1e300")
	case 3:
		return r.pick("latitude", "velocidade_kmh", "distancia_m", "multiplicador")
	case 4:
		return "pontos / descartados" // not plain, and an error where none was refused
	}
	return r.pick("pontos", "descartados", "duracao_s", "autorizado_centavos", "termino_ms")
}

func (r randomly) condition(depth int) string {
	switch op := r.pick("==", "!=", "<", "<=", ">", ">="); r.IntN(8 - depth) {
	case 0:
		return r.pick("em_andamento", "true", "false")
	case 1:
		return r.pick(`regiao`, `categoria`, `"a"`) + op + r.pick(`corrida`, `"b"`, `""`)
	case 2:
		return `regiao in ["a", "b"]`
	case 3, 4:
		return r.number() + op + r.number()
	case 5:
		return "!(" + r.condition(depth+1) + ")"
	}
	return "(" + r.condition(depth+1) + ")" + r.pick("&&", "||") + "(" + r.condition(depth+1) + ")"
}

func (r randomly) facts() *rule.Facts {
	number := func() int64 { return []int64{-1, 0, 1, 2, 1 << 53, 1<<53 + 1, math.MaxInt64}[r.IntN(7)] }
	fraction := func() float64 {
		return []float64{math.NaN(), math.Inf(1), -2, math.Copysign(0, -1), 0, 1.5, 1 << 53}[r.IntN(7)]
	}
	return &rule.Facts{TripID: schemas.TripID(r.pick("a", "b", "")), Region: r.pick("a", "b", ""), Category: r.pick("a", "c"),
		Start: schemas.Millis(r.IntN(2)), End: schemas.Millis(r.IntN(2)), Last: schemas.LatLon{Lat: fraction()}, SpeedKmh: fraction(),
		DistanceMM: number(), DurationS: number(), Points: number(), Rejected: number(), Multiplier: schemas.Mils(number()), Authorized: schemas.Cents(number())}
}

// What plain code knows, CEL says too.
func TestPlainCodeSaysWhatCELSays(t *testing.T) {
	compile := newCompiler(t)
	r := randomly{rand.New(rand.NewPCG(1, 2))}
	plainly, knew := 0, 0
	for range 3000 {
		text := r.condition(0)
		e, err := compile(text)
		if err != nil {
			continue // such as a double == an int, which CEL does not take
		}
		c := e.(*condition)
		if c.plain == nil {
			continue
		}
		plainly++
		for range 20 {
			f := r.facts()
			holds, known := c.plain(moment{f, now})
			if !known {
				continue
			}
			knew++
			said, _, err := c.program.Eval(&activation{moment{f, now}, c.features})
			if err != nil || said.Value() != holds {
				t.Fatalf("%s of %+v: plain code says %v, CEL %v, %v", text, f, holds, said, err)
			}
		}
	}
	if plainly < 1500 || knew < 10*plainly {
		t.Errorf("%d of 3000 conditions have plain code, which knew %d times: too few to tell", plainly, knew)
	}
}

func TestPlainConditionsDoNotAllocate(t *testing.T) {
	e, err := newCompiler(t)(`multiplicador >= 2 && distancia_m > 5000.0 || regiao == "gru" && pontos > 10`)
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() { _, _ = e.Holds(&facts, now) }); n > 0 {
		t.Errorf("%.0f allocations, want none", n)
	}
}
