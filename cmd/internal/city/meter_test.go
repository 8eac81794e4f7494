package city

import (
	"strings"
	"testing"

	"taximeter/actors/expression"
	"taximeter/actors/rule"
	"taximeter/actors/tariff"
	"taximeter/actors/trip"
	"taximeter/schemas"
	"taximeter/schemas/edge"
)

// What passengers pay is worked out by the city from where its cars drove; what they owe, by
// the meter from records that came twice, late, wrong and corrected. Both must agree.
func TestTheMeterAgreesWithWhatWasPaid(t *testing.T) {
	cfg := Default(11, morning)
	cfg.EventsPerSecond, cfg.Span = 30, 2*schemas.Hour
	m := meterOf(t, cfg)

	verdicts := map[string]int{}
	for _, s := range m.trips {
		verdicts[s.Reconcile(schemas.EndOfTime)]++
	}
	charged := verdicts["ok"] + verdicts["divergente"] + verdicts["nao_paga"]
	if charged < 1000 || verdicts["paga_sem_fatura"]+verdicts["sem_resumo"] > 0 {
		t.Errorf("of the trips: %v", verdicts)
	}
	for what, share := range map[string]float64{"divergente": partlyRefunded, "nao_paga": unpaid} {
		if got := float64(verdicts[what]) / float64(charged); got == 0 || got > 2.5*share {
			t.Errorf("%s: %.4f of %d bills, want about %.4f", what, got, charged, share)
		}
	}
	for motive, n := range map[schemas.Motive]int{schemas.MotiveNone: 1000, schemas.MotiveCancelled: 10, schemas.MotiveVoided: 1} {
		if m.motives[motive] < n {
			t.Errorf("%d bills with motive %q, want at least %d: %v", m.motives[motive], motive, n, m.motives)
		}
	}
	if m.rectified < 10 {
		t.Errorf("%d bills were rectified", m.rectified)
	}
	for _, kind := range []string{"parada", "desvio", "velocidade", "sem_sinal", "cobranca_duplicada", "expressao"} {
		if n := m.alerts[kind]; n == 0 || n > len(m.trips)/5 {
			t.Errorf("%d alerts %s in %d trips: want some, not many", n, kind, len(m.trips))
		}
	}
	if m.anomalies[schemas.AnomalyNoEnd] == 0 {
		t.Error("nobody forgot to end a trip")
	}
	if m.anomalies[schemas.AnomalyNoTariff]+m.anomalies[schemas.AnomalyIDReused]+m.anomalies[schemas.AnomalyRuleFailed] > 0 {
		t.Errorf("anomalies: %v", m.anomalies)
	}
}

// The prices are those given, not those of a city that starts when this one does.
func TestTheCityPaysByTheTariffsGiven(t *testing.T) {
	cfg := Default(11, morning)
	cfg.EventsPerSecond, cfg.Span = 20, schemas.Hour
	cfg.Tariffs = []schemas.Tariff{
		{TariffID: "any", Region: schemas.Any, Category: schemas.Any, Currency: "EUR", Base: 4_000_000, PerKm: 3_000_000, PerMin: 500_000, CancelFee: 2_000_000, GraceS: 30},
		{TariffID: "sp", Region: "sao-paulo", Category: schemas.Any, ValidFrom: morning + 20*schemas.Minute, Currency: "EUR", Base: 9_000_000, PerKm: 1_000_000, GraceS: 200},
	}
	m := meterOf(t, cfg)
	verdicts := map[string]int{}
	for _, s := range m.trips {
		verdicts[s.Reconcile(schemas.EndOfTime)]++
	}
	if ok := verdicts["ok"]; ok < 500 || verdicts["divergente"] > ok/50 || verdicts["nao_paga"] > ok/100 || verdicts["paga_sem_fatura"] > 0 {
		t.Errorf("of the trips: %v", verdicts)
	}
}

func TestEveryRideMustHaveAPrice(t *testing.T) {
	cfg := Default(1, morning)
	cfg.Tariffs = Tariffs(morning)[:5] // sao-paulo's
	if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), "tariffs: none is in force for rio-de-janeiro/economico") {
		t.Error(err)
	}
}

// meterOf has metered a whole city.
func meterOf(t *testing.T, cfg Config) *meter {
	t.Helper()
	m := newMeter(t, cfg)
	c := mustNew(t, cfg)
	for l, ok := c.Next(); ok; l, ok = c.Next() {
		m.take(l)
	}
	m.advance(schemas.EndOfTime)
	return m
}

// meter is one partition's worth of trips without the partition.
type meter struct {
	env       trip.Env
	out       trip.Effects
	trips     map[schemas.TripID]*trip.State
	swept     schemas.Millis
	motives   map[schemas.Motive]int
	alerts    map[string]int
	anomalies map[schemas.AnomalyKind]int
	rectified int
}

func newMeter(t *testing.T, cfg Config) *meter {
	t.Helper()
	m := &meter{trips: map[schemas.TripID]*trip.State{}, motives: map[schemas.Motive]int{}, alerts: map[string]int{}, anomalies: map[schemas.AnomalyKind]int{}, swept: schemas.NoTime}
	settings := trip.DefaultSettings()
	settings.Horizon = 0
	var tariffs tariff.Catalogue
	for i, p := range cfg.Tariffs {
		if problems := edge.CheckTariff(&p); len(problems) > 0 {
			t.Fatalf("tariff %s: %v", p.TariffID, problems)
		}
		tariffs.Put(schemas.Offset(i), p)
	}
	compile, err := expression.NewCompiler()
	if err != nil {
		t.Fatal(err)
	}
	book, err := rule.NewBook(Rules(cfg.Start), compile)
	if err != nil {
		t.Fatal(err)
	}
	m.env = trip.Env{Settings: &settings, Tariffs: &tariffs, Rules: book, Watermark: schemas.NoTime, Out: &m.out}
	return m
}

func (m *meter) take(l *edge.Line) {
	var r schemas.Record
	l.Record(&r)
	if l.Raw != nil || schemas.CheckEvent(&r.Event, l.Key) != schemas.Counted || r.At > l.AppendedAt+2*schemas.Minute {
		return
	}
	s := m.trips[r.TripID]
	if s == nil {
		s = trip.New(r.TripID)
		m.trips[r.TripID] = s
	}
	s.Take(&m.env, &r.Event)
	if r.Topic != schemas.Payments {
		m.env.Watermark = max(m.env.Watermark, r.At-2*schemas.Minute)
	}
	if m.env.Watermark > m.swept.Add(20*schemas.Second) || m.swept == schemas.NoTime {
		m.advance(m.env.Watermark)
	}
	m.drain()
}

func (m *meter) advance(to schemas.Millis) {
	m.env.Watermark, m.swept = to, to
	for _, s := range m.trips {
		if s.Due() <= to {
			s.Advance(&m.env)
		}
	}
	m.drain()
}

func (m *meter) drain() {
	for _, b := range m.out.Bills {
		m.motives[b.Motive]++
		if b.Rectification {
			m.rectified++
		}
	}
	for _, a := range m.out.Alerts {
		m.alerts[a.Kind]++
	}
	for _, a := range m.out.Anomalies {
		m.anomalies[a.Kind]++
	}
	m.out = trip.Effects{}
}
