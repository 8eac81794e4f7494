package expression

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"taximeter/actors/rule"
	"taximeter/schemas"
)

const now schemas.Millis = 1_772_445_600_000

func newCompiler(t testing.TB) rule.ExpressionCompiler {
	c, err := NewCompiler()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var facts = rule.Facts{
	TripID: "t1", Region: "poa", Category: "comfort",
	Start: now - 3*schemas.Hour, End: schemas.NoTime, LastAt: now - schemas.Minute,
	Last: schemas.LatLon{Lat: -30.03, Lon: -51.23}, SpeedKmh: 42.5,
	DistanceMM: 80_500_250, DurationS: 10_800, Points: 120, Rejected: 7, Multiplier: 1500,
	Authorized: 9000, Captured: 0,
}

func TestConditions(t *testing.T) {
	compile := newCompiler(t)
	for _, c := range []struct {
		text string
		want bool
	}{
		{`corrida == "t1" && regiao == "poa" && categoria == "comfort"`, true},
		{`em_andamento`, true},
		{`!em_andamento || termino_ms > 0`, false},
		{`termino_ms == 0`, true},
		{`instante_ms - ultimo_ponto_ms == 60000`, true},
		{`instante_ms - inicio_ms >= 3 * 60 * 60 * 1000`, true},
		{`latitude < -30 && longitude < -51.0`, true},
		{`velocidade_kmh > 42`, true}, // a double with an int
		{`distancia_m == 80500.25`, true},
		{`duracao_s == 10800 && pontos == 120 && descartados == 7`, true},
		{`double(descartados) / double(pontos + descartados) > 0.05`, true},
		{`multiplicador == 1.5`, true},
		{`autorizado_centavos > capturado_centavos + 5000`, true},
		{`regiao in ["gru", "cxj"]`, false},
		{`regiao.startsWith("p") ? pontos > 10 : pontos > 1000`, true},
		{`descartados > 0 && pontos / descartados < 3`, false},
		{`false && pontos / 0 == 1`, false},
	} {
		e, err := compile(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if got, err := e.Holds(&facts, now); err != nil || got != c.want {
			t.Errorf("%s: %v, %v", c.text, got, err)
		}
	}
}

func TestFaultsSayWhereAndWhat(t *testing.T) {
	compile := newCompiler(t)
	for text, want := range map[string]string{
		`distancia > 5`:                         "line 1, column 1: there is no distancia; write one of corrida, regiao, ",
		"pontos > 5 &&\n  distancia_km > 5":     "line 2, column 3: there is no distancia_km",
		`pontos >`:                              "line 1, column 9:",
		`pontos > "5"`:                          "line 1, column 8: found no matching overload for '_>_' applied to '(int, string)'",
		`pontos + 1`:                            "it gives a value of type int",
		`pontos`:                                "it gives a value of type int",
		``:                                      "line 1, column",
		`regiao.matches("p.*")`:                 "line 1, column 15: undeclared reference to 'matches'",
		`[1, 2].exists(x, x > 1)`:               "there is no x",
		`timestamp(instante_ms) > timestamp(0)`: "undeclared reference to 'timestamp'",
		`regiao.nome == "x"`:                    "line 1, column 7: type 'string' does not support field selection",
		`type(pontos) == int`:                   "there is no int",
		strings.Repeat("(", 300) + "true" + strings.Repeat(")", 300): "recursion",
		strings.Repeat(`regiao + `, 40) + `"" == ""`:                 "make it shorter",
	} {
		_, err := compile(text)
		if !errors.Is(err, ErrExpression) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want ... %s", text, err, want)
		}
	}
}

func TestAFailedEvaluationIsAnError(t *testing.T) {
	compile := newCompiler(t)
	for _, text := range []string{
		`pontos / capturado_centavos > 1`,
		`9223372036854775807 + pontos > 0`,
		`pontos % capturado_centavos == 0`,
		`int(velocidade_kmh * 1e300) > 0`,
	} {
		e, err := compile(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if _, err := e.Holds(&facts, now); !errors.Is(err, ErrEvaluation) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestPartitionsShareAnExpression(t *testing.T) {
	e, err := newCompiler(t)(`pontos > 50 && regiao in ["poa"]`)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			f := facts
			for i := range 1000 {
				f.Points = int64(i + worker)
				if got, err := e.Holds(&f, now); err != nil || got != (f.Points > 50) {
					t.Errorf("%d points: %v, %v", f.Points, got, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// The whole way: a rule's text, its book, a trip, an alert.
func TestARuleWithACondition(t *testing.T) {
	rules := []schemas.Rule{{RuleID: "longe", Version: 1, Kind: "expressao", Active: true,
		Params: map[string]string{"expressao": "em_andamento && distancia_m > 80000"}}}
	book, err := rule.NewBook(rules, newCompiler(t))
	if err != nil {
		t.Fatal(err)
	}
	var m rule.Memory
	var got recorder
	f := facts
	for i, metres := range []int64{79_000, 80_001, 90_000} {
		f.DistanceMM = metres * 1000
		m.OnEvent(book, &f, schemas.EventID("abc"[i:i+1]), now+schemas.Millis(i), &got)
	}
	if len(got) != 1 || got[0].OnsetID != "b" || got[0].DecidedAt != now+1 {
		t.Errorf("alerts %+v", got)
	}

	rules[0].Params["expressao"] = "distancia > 80000"
	_, err = rule.NewBook(rules, newCompiler(t))
	if want := `rule "longe" version 1: parametros.expressao: not a condition: line 1, column 1: there is no distancia; write one of`; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("error %v, want %s", err, want)
	}
}

type recorder []schemas.Alert

func (r *recorder) Alert(a schemas.Alert)     { *r = append(*r, a) }
func (r *recorder) RuleFailed(f rule.Failure) { panic(f.Err) }

func BenchmarkHolds(b *testing.B) {
	for _, text := range []string{`pontos > 1000`, `em_andamento && distancia_m > 90000 && regiao in ["poa", "cxj"]`} {
		b.Run(text, func(b *testing.B) {
			e, err := newCompiler(b)(text)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if holds, err := e.Holds(&facts, now); holds || err != nil {
					b.Fatal(holds, err)
				}
			}
		})
	}
}

// Whatever the text, compiling and evaluating end in a value or an error.
func FuzzCompile(f *testing.F) {
	compile := newCompiler(f)
	f.Add(`pontos > 5 && regiao in ["a", 'b'] ? velocidade_kmh < 3.5e2 : !em_andamento`)
	f.Add(`size(regiao + "x") % pontos == -1`)
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 4000 {
			return
		}
		e, err := compile(text)
		if err != nil {
			if !errors.Is(err, ErrExpression) {
				t.Fatal(err)
			}
			return
		}
		if _, err := e.Holds(&facts, now); err != nil && !errors.Is(err, ErrEvaluation) {
			t.Fatal(err)
		}
	})
}
