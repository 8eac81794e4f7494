package rule

import (
	"testing"
	"unsafe"

	"taximeter/schemas"
)

// unsafeString is a string that changes with b, as strings over a fetch buffer do.
func unsafeString(b []byte) string { return unsafe.String(&b[0], len(b)) }

// drive is an endless trip that alerts nothing once it is warm: it moves on at every point,
// so that the stop's onset is renewed, stays near its route and within its speed.
func drive(t testing.TB, rules string) func() {
	b := bookOf(t, rules)
	var m Memory
	f := Facts{TripID: "t1", Region: "poa", Start: midnight}
	for i := range 20 {
		f.Route = append(f.Route, place(float64(i)*500, float64(i%2)*20))
	}
	ids := []schemas.EventID{"8f14e45f-ceea-467f-a8b5-1f2c7b1c9d01", "8f14e45f-ceea-467f-a8b5-1f2c7b1c9d02"}
	path := make([]schemas.LatLon, 200)
	for i := range path {
		path[i] = place(float64(i)*45, 5)
	}
	var got alerts
	at, n := midnight, 0
	return func() {
		at += 4 * schemas.Second
		n++
		p := Point{ID: ids[n%2], At: at, LatLon: path[n%len(path)], SpeedKmh: 40}
		f.LastAt, f.LastID, f.Last, f.Points = at, p.ID, p.LatLon, 1
		m.OnPoint(b, &f, p, &got)
		m.OnEvent(b, &f, p.ID, at, &got)
		m.NextDue(b, &f)
		m.OnWatermark(b, &f, at-2*schemas.Minute, &got)
		if len(got) > 0 {
			t.Fatal(got)
		}
	}
}

const oneOfEach = `
a v1 parada
b v1 desvio limiarM=200 pontos=3
c v1 velocidade limiarKmh=80 pontos=2
d v1 sem_sinal duracaoMin=5
e v1 cobranca_duplicada
f v1 expressao expressao=pontos_>_2
`

func TestAPointThatAlertsNothingDoesNotAllocate(t *testing.T) {
	step := drive(t, oneOfEach)
	for range 500 {
		step()
	}
	if n := testing.AllocsPerRun(1000, step); n != 0 {
		t.Errorf("%v allocations per point", n)
	}
}

func TestABookWithoutRulesRemembersNothing(t *testing.T) {
	var m Memory
	var got alerts
	b, f := &Book{}, Facts{Start: midnight, LastAt: midnight}
	n := testing.AllocsPerRun(100, func() {
		m.OnPoint(b, &f, Point{ID: "p", At: midnight}, &got)
		m.OnEvent(b, &f, "p", midnight, &got)
		m.OnPayment(b, &f, Payment{ID: "p"}, nil, &got)
		m.OnWatermark(b, &f, schemas.EndOfTime, &got)
	})
	if n != 0 || m.newestPoint != 0 || m.episodes != nil || m.NextDue(b, &f) != schemas.EndOfTime {
		t.Errorf("%v allocations, memory %+v", n, m)
	}
}

func BenchmarkNoRules(b *testing.B) {
	var m Memory
	book, f := &Book{}, Facts{Start: midnight, LastAt: midnight}
	p := Point{ID: "p", At: midnight}
	for b.Loop() {
		m.OnPoint(book, &f, p, nil)
	}
}

// Per point: OnPoint, OnEvent, NextDue and OnWatermark; 15 ns of it are the driver's.
func BenchmarkPointOneRuleOfEachKind(b *testing.B) { benchmark(b, oneOfEach) }
func BenchmarkPointParada(b *testing.B)            { benchmark(b, "a v1 parada") }
func BenchmarkPointDesvio(b *testing.B)            { benchmark(b, "a v1 desvio limiarM=200 pontos=3") }
func BenchmarkPointVelocidade(b *testing.B)        { benchmark(b, "a v1 velocidade limiarKmh=80 pontos=2") }
func BenchmarkPointSemSinal(b *testing.B)          { benchmark(b, "a v1 sem_sinal duracaoMin=5") }

func benchmark(b *testing.B, rules string) {
	step := drive(b, rules)
	b.ReportAllocs()
	for b.Loop() {
		step()
	}
}
