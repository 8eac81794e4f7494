package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"taximeter/cmd/internal/letters"
	"taximeter/schemas"
)

// dlq runs a command of the desk against the town.
func (x *town) dlq(args ...string) string {
	x.Helper()
	return taximeter(x.T, append(append([]string{"dlq"}, args...), "--brokers", strings.Join(x.world.Brokers(), ","), "--registry", x.world.RegistryURL())...)
}

// verdicts of the town's node, all partitions together.
func (x *town) verdicts() map[string]int64 {
	sum := map[string]int64{}
	for _, p := range x.node.Partitions() {
		for v, n := range p.Verdicts {
			sum[v] += n
		}
	}
	return sum
}

// A phone whose clock was ahead is put right: its letters are sent again and counted, once,
// and what would only come back stays where it is.
func TestDeadLettersAreSentAgainOnce(t *testing.T) {
	x := newTown(t)
	x.start()
	x.round()
	at := x.origin.Add(5 * schemas.Minute)
	for i := range 3 { // appended three minutes before they happened
		x.send(fmt.Sprintf(`{"topic":"corridas.telemetria","appendedAt":%d,"value":{"eventId":"ahead-%d","tripId":"t-0-%d","motoristaId":"m-secret","ocorridoEm":%d,"latitude":41.15,"longitude":-8.61,"dispositivo":"moto-g/5.%d"}}`+"\n",
			at-180_000, i, i, at+schemas.Millis(i), i))
		x.sent++
	}
	x.checkpoint()
	counted := x.verdicts()
	if counted["dlq:relogio_adiantado"] != 3 || counted["dlq:coordenadas_invalidas"] != 1 {
		t.Fatal(counted)
	}

	list := x.dlq("list", "--reason", "relogio_adiantado", "--device", "moto-g/5.1")
	if !strings.Contains(list, "t-0-1") || !strings.HasSuffix(list, "1 of 1 dead letters\nexit 0\n") {
		t.Error(list)
	}
	source := strings.Fields(strings.Split(list, "\n")[1])[2]
	show := x.dlq("show", source)
	for _, want := range []string{"dlq:relogio_adiantado", "moto-g/5.1", `"eventId": "ahead-1"`, "t-0-1"} {
		if !strings.Contains(show, want) {
			t.Errorf("no %s in\n%s", want, show)
		}
	}
	if got := x.dlq("show", "corridas.telemetria/0/99999"); !strings.Contains(got, "there is no dead letter of corridas.telemetria/0/99999") {
		t.Error(got)
	}
	stats := x.dlq("stats", "--json")
	var counts []struct {
		Of      string
		Letters int64
		Trips   int
	}
	if err := json.Unmarshal([]byte(strings.TrimSuffix(stats, "exit 0\n")), &counts); err != nil || len(counts) != 2 || counts[0].Letters != 3 || counts[0].Trips != 3 {
		t.Errorf("%v %v", counts, err)
	}

	if got := x.dlq("requeue", "--device", "moto-g", "--dry-run"); !strings.Contains(got, "3 to be sent, 0 not\n") {
		t.Error(got)
	}
	if got := x.dlq("requeue", "--confirm", "4"); !strings.Contains(got, "still dlq:coordenadas_invalidas: its bytes alone decide that") ||
		!strings.Contains(got, "--confirm 4, and 3 letters would be sent; nothing was") || !strings.HasSuffix(got, "exit 2\n") {
		t.Error(got)
	}
	if got := x.dlq("requeue", source, "--confirm", "1"); !strings.Contains(got, "sent 1 dead letters again") {
		t.Error(got)
	}
	if got := x.dlq("requeue", "--reason", "relogio_adiantado", "--confirm", "2"); !strings.Contains(got, "2 to be sent, 1 not") || !strings.Contains(got, "sent 2 dead letters again") {
		t.Error(got)
	}
	x.sent += 3
	x.checkpoint()
	now := x.verdicts()
	accepted := func(v map[string]int64) int64 { return v["contado"] + v["atrasado"] + v["retificacao"] }
	if accepted(now) != accepted(counted)+3 || now["dlq:relogio_adiantado"] != 3 {
		t.Errorf("%v, before %v", now, counted)
	}

	if got := x.dlq("requeue", "--reason", "relogio_adiantado", "--confirm", "0"); !strings.Contains(got, "0 to be sent, 3 not") || !strings.Contains(got, "--again repeats that") {
		t.Error(got)
	}
	// A script that expects some to be sent hears that none was.
	if got := x.dlq("requeue", "--reason", "relogio_adiantado", "--confirm", "2"); !strings.Contains(got, "--confirm 2, and 0 letters would be sent; nothing was") || !strings.HasSuffix(got, "exit 2\n") {
		t.Error(got)
	}
	if got := x.dlq("requeue", source, "--again", "--confirm", "1", "--json"); !strings.Contains(got, `"sent": 1`) {
		t.Error(got)
	}
	x.sent++
	x.checkpoint()
	if v := x.verdicts(); v["duplicado"] != 1 || accepted(v) != accepted(now) {
		t.Errorf("%v", v)
	}
	x.once(x.results())

	monday, err := mondayOf("", time.Now().AddDate(0, 0, 7)) // this week
	if err != nil {
		t.Fatal(err)
	}
	year, number := monday.ISOWeek()
	week := fmt.Sprintf("%d-W%02d", year, number)
	report := x.dlq("report", "--week", week)
	for _, want := range []string{"# Dead letters, week " + week, "4 letters; 0 the week before (new)", "| `dlq:relogio_adiantado` | 3 | 75.0 % | 3 | 0 | new |",
		`"motoristaId":"(redacted)"`, `"latitude":"(redacted)"`, `"eventId":"ahead-`, "moto-g/5.1"} {
		if !strings.Contains(report, want) {
			t.Errorf("no %s in\n%s", want, report)
		}
	}
	if strings.Contains(report, "m-secret") || strings.Contains(report, "41.15") {
		t.Errorf("a pseudonym or a position is shown:\n%s", report)
	}
	if got := x.dlq("report", "--week", week, "--json"); !json.Valid([]byte(strings.TrimSuffix(got, "exit 0\n"))) {
		t.Error(got)
	}
}

func TestWeeks(t *testing.T) {
	now := time.Date(2026, 11, 29, 23, 0, 0, 0, time.UTC) // a Sunday
	for week, want := range map[string]string{"": "2026-11-16", "2026-W47": "2026-11-16", "2026-W01": "2025-12-29", "2026-W53": "2026-12-28"} {
		if got, err := mondayOf(week, now); err != nil || got.Format(time.DateOnly) != want {
			t.Errorf("%s: %v, %v", week, got, err)
		}
	}
	for _, week := range []string{"2025-W53", "2026-W0", "2026-47", "last", "2026-W-1"} {
		if got, err := mondayOf(week, now); err == nil {
			t.Errorf("%s: %v", week, got)
		}
	}
}

func TestDeskFaults(t *testing.T) {
	broker, url := services(t)
	for want, args := range map[string][]string{
		"the reasons are ilegivel,":     {"list", "--reason", "feio"},
		"is none of the input topics":   {"stats", "--topic", "corridas.dlq"},
		`cannot be counted by "colour"`: {"stats", "--by", "colour"},
		"is no letter's source":         {"show", "28"},
		"write a day (2026-11-29)":      {"requeue", "--since", "soon"},
		"write it as 2026-W47":          {"report", "--week", "47"},
	} {
		if got := taximeter(t, append(append([]string{"dlq"}, args...), "--brokers", broker, "--registry", url)...); !strings.Contains(got, want) || !strings.HasSuffix(got, "exit 2\n") {
			t.Errorf("want %q in %s", want, got)
		}
	}
}

// Of two people who send the same letters again at once, one does: the later session ends the
// earlier, which says so.
func TestTwoRequeuesAtOnceSendOnce(t *testing.T) {
	x := newTown(t)
	x.start()
	x.round()
	at := x.origin.Add(5 * schemas.Minute)
	x.send(fmt.Sprintf(`{"topic":"corridas.telemetria","appendedAt":%d,"value":{"eventId":"ahead","tripId":"t-0-0","motoristaId":"m","ocorridoEm":%d,"latitude":41.15,"longitude":-8.61}}`+"\n", at-180_000, at))
	x.sent++
	x.checkpoint()
	desk := letters.NewDesk(x.world.Kafka(), x.world.Registry())
	now := schemas.Millis(time.Now().UnixMilli())
	open := func() (*letters.Requeue, letters.Plan) {
		t.Helper()
		q, err := desk.OpenRequeue(x.ctx)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(q.Close)
		var all []*letters.Letter
		if err := desk.Read(x.ctx, letters.Filter{}, nil, func(l *letters.Letter) error { all = append(all, l); return nil }); err != nil {
			t.Fatal(err)
		}
		p, err := q.Plan(x.ctx, all, letters.RefuseRepeats, now)
		if err != nil || len(p.Send) != 1 {
			t.Fatal(len(p.Send), err)
		}
		return q, p
	}
	first, planned := open()
	second, same := open()
	if err := first.Send(x.ctx, planned.Send, "ana", now); err == nil || !strings.Contains(err.Error(), "0 of 1 letters were sent") {
		t.Errorf("the first: %v", err)
	}
	if err := second.Send(x.ctx, same.Send, "bia", now); err != nil {
		t.Error(err)
	}
	if err := first.Send(x.ctx, planned.Send, "ana", now); err == nil {
		t.Error("the first sends after the second has")
	}
	x.sent++ // once
	x.checkpoint()
	if got := x.dlq("requeue", "--dry-run"); !strings.Contains(got, "was sent again by bia") {
		t.Error(got)
	}
	if v := x.verdicts(); v["duplicado"] != 0 {
		t.Errorf("%v", v)
	}
}
