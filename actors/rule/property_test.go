package rule

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"taximeter/schemas"
)

const everyKind = `
a-parada v1 parada raioM=50 duracaoMin=1
b-desvio v1 desvio limiarM=100 pontos=2
b-desvio v2 desvio limiarM=50 pontos=3 from=10:05:00
c-veloz v1 velocidade limiarKmh=80 pontos=2
c-veloz v2 velocidade off from=10:06:00
c-veloz v3 sem_sinal duracaoMin=0.5 from=10:09:00
d-mudo v1 sem_sinal duracaoMin=1
e-dupla v1 cobranca_duplicada segundos=30
f-muitos v1 expressao expressao=pontos_>_4
g-caro v1 expressao expressao=autorizado_>_100
h-regional v1 velocidade limiarKmh=50 pontos=1 regioes=poa
`

// arrivals draws a trip's script: events mostly in order, with late ones among them, and a
// watermark that never goes back.
func arrivals(t *rapid.T) []string {
	lines := []string{"in region=poa", "route 0,0 1000,0", "start 10:00:00 s"}
	now, watermark := 0, 0
	clock := func(s int) string { return fmt.Sprintf("10:%02d:%02d", s/60, s%60) }
	for i := range rapid.IntRange(0, 60).Draw(t, "events") {
		now = min(now+rapid.IntRange(0, 40).Draw(t, "step"), 3599)
		at := now
		if rapid.IntRange(0, 4).Draw(t, "late") == 0 {
			at = max(0, now-rapid.IntRange(0, 200).Draw(t, "by"))
		}
		switch rapid.IntRange(0, 9).Draw(t, "what") {
		case 0:
			lines = append(lines, fmt.Sprintf("pay %s p%d %d.00", clock(at), i, rapid.IntRange(1, 3).Draw(t, "amount")*20))
		case 1:
			watermark = max(watermark, now-rapid.IntRange(0, 120).Draw(t, "behind"))
			lines = append(lines, "watermark "+clock(watermark))
		case 2:
			lines = append(lines, fmt.Sprintf("event %s v%d", clock(at), i))
		default:
			lines = append(lines, fmt.Sprintf("point %s e%d north=%d east=%d kmh=%d", clock(at), i,
				rapid.SampledFrom([]int{0, 20, 45, 60, 200}).Draw(t, "north"), rapid.SampledFrom([]int{0, 30, 70, 150}).Draw(t, "east"),
				rapid.SampledFrom([]int{0, 40, 60, 90}).Draw(t, "kmh")))
		}
	}
	if rapid.Bool().Draw(t, "ends") {
		lines = append(lines, fmt.Sprintf("end %s z", clock(now)))
	}
	return append(lines, "watermark +inf")
}

func bookOf(t testing.TB, rules string) *Book {
	b, err := NewBook(parseRules(t, rules), fakeCompiler)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestRestoreAfterEveryStepSaysTheSameAndEachFactOnce(t *testing.T) {
	book := bookOf(t, everyKind)
	rapid.Check(t, func(rt *rapid.T) {
		straight, restored := newTripWorld(t, book), newTripWorld(t, book)
		lines := arrivals(rt)
		for _, line := range lines {
			straight.do(line)
			restored.do(line)
			restored.memory = reread(rt, &restored.memory)
		}
		if straight.out.String() != restored.out.String() {
			rt.Fatalf("%s\n---- straight\n%s---- restored\n%s", strings.Join(lines, "\n"), straight.out.String(), restored.out.String())
		}
		facts := make(map[string]bool)
		for line := range strings.Lines(straight.out.String()) {
			words := strings.Fields(line)
			fact := strings.SplitN(words[3], "/", 2)[0] + " " + words[4]
			if facts[fact] {
				rt.Fatalf("%s\n---- told twice: %s\n%s", strings.Join(lines, "\n"), fact, straight.out.String())
			}
			facts[fact] = true
		}
		if n := len(straight.memory.episodes); n > book.Len() {
			rt.Fatalf("%d episodes for %d rules", n, book.Len())
		}
	})
}

// To the rules that look at points it is as if late points had never come.
func TestLatePointsChangeNothing(t *testing.T) {
	book := bookOf(t, `
a-parada v1 parada raioM=50 duracaoMin=1
b-desvio v1 desvio limiarM=50 pontos=2
c-veloz v1 velocidade limiarKmh=80 pontos=2`)
	rapid.Check(t, func(rt *rapid.T) {
		all, punctual := newTripWorld(t, book), newTripWorld(t, book)
		newest := ""
		lines := arrivals(rt)
		for _, line := range lines {
			all.do(line)
			if at, isPoint := strings.CutPrefix(line, "point "); isPoint {
				at = at[:len("10:00:00")]
				if at <= newest {
					continue
				}
				newest = at
			}
			punctual.do(line)
		}
		if all.out.String() != punctual.out.String() {
			rt.Fatalf("%s\n---- with late points\n%s---- without\n%s", strings.Join(lines, "\n"), all.out.String(), punctual.out.String())
		}
	})
}

func TestMemoryFollowsTheBook(t *testing.T) {
	both := bookOf(t, "a v1 parada\nb v1 velocidade limiarKmh=80 pontos=2\nc v1 cobranca_duplicada")
	w := newTripWorld(t, both)
	for _, line := range []string{"start 10:00:00 s", "point 10:00:00 p1 kmh=90", "pay 10:00:00 x 5.00", "pay 10:00:01 y 5.00"} {
		w.do(line)
	}
	w.book = bookOf(t, "b v1 velocidade limiarKmh=80 pontos=2\nc v2 velocidade limiarKmh=300 pontos=2")
	w.do("point 10:00:05 p2 kmh=90")
	if out := w.out.String(); !strings.Contains(out, "velocidade by b/1 onset=p1@10:00:00") {
		t.Errorf("the run did not go on under the new book:\n%s", out)
	}
	if len(w.memory.episodes) != 1 || w.memory.episodes[0].ruleID != "b" {
		t.Errorf("episodes %+v, want only b's", w.memory.episodes)
	}
	w.book = &Book{}
	w.do("point 10:00:10 p3 kmh=90")
	if len(w.memory.episodes)+len(w.memory.told()) != 0 {
		t.Errorf("an empty book leaves %+v %+v", w.memory.episodes, w.memory.told())
	}
}

// A rule that comes into a trip under way takes no late point for its first.
func TestANewRuleStartsFromTheNewestPoint(t *testing.T) {
	w := newTripWorld(t, &Book{})
	w.do("point 10:00:10 a")
	w.book = bookOf(t, "b v1 velocidade limiarKmh=80 pontos=1")
	w.do("point 10:00:05 late kmh=90")
	w.do("point 10:00:15 b kmh=90")
	if got, want := w.out.String(), "10:00:15 velocidade by b/1 onset=b@"; !strings.HasPrefix(got, want) {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestChargesAreBounded(t *testing.T) {
	w := newTripWorld(t, bookOf(t, "c v1 cobranca_duplicada segundos=60"))
	for i := range 2 * maxCharges {
		w.do(fmt.Sprintf("pay 10:%02d:%02d p%03d 5.00", i/60, i%60, i))
	}
	if n := len(w.memory.told()); n != maxCharges {
		t.Errorf("%d charges remembered, want %d", n, maxCharges)
	}
	reread(t, &w.memory)
}

// What is remembered must not change with the buffer that an event's strings lie in.
func TestMemoryAndAlertsDoNotAliasTheEvent(t *testing.T) {
	book := bookOf(t, "a v1 velocidade limiarKmh=80 pontos=2\nb v1 cobranca_duplicada\nc v1 expressao expressao=pontos_>_0")
	var m Memory
	var got alerts
	f := Facts{TripID: "t1", Points: 1}
	for i, id := range []string{"first", "secnd"} {
		buffer := []byte(id)
		alias := schemas.EventID(unsafeString(buffer))
		at := midnight + schemas.Millis(i)
		m.OnPoint(book, &f, Point{ID: alias, At: at, SpeedKmh: 90}, &got)
		m.OnEvent(book, &f, alias, at, &got)
		if i == 1 {
			m.OnPayment(book, &f, Payment{ID: alias, At: at}, []Payment{{ID: "aaaaa", At: at - 1}}, &got)
			m.OnPayment(book, &f, Payment{ID: "zzzzz", At: at + 1}, []Payment{{ID: alias, At: at}}, &got)
		}
		copy(buffer, "-----")
	}
	if len(got) != 4 {
		t.Fatalf("%d alerts: %+v", len(got), got)
	}
	for i, want := range []schemas.EventID{"first", "first", "aaaaa", "secnd"} {
		if got[i].OnsetID != want || got[i].Details["outroEventId"] == "-----" {
			t.Errorf("alert %d: %+v, want onset %s", i, got[i], want)
		}
	}
	if m.told()[1].onset != "secnd" {
		t.Errorf("charges %+v", m.told())
	}
}

type alerts []schemas.Alert

func (a *alerts) Alert(x schemas.Alert) { *a = append(*a, x) }
func (a *alerts) RuleFailed(f Failure)  { panic(f.Err) }
