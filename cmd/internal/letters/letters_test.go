package letters

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"taximeter/cmd/internal/simulation"
	"taximeter/schemas"
)

func letter(value string) *Letter {
	l := &Letter{Letter: simulation.Letter{Reason: schemas.DLQBadPosition}, Source: "corridas.telemetria/0/1"}
	if json.Valid([]byte(value)) {
		l.Value = json.RawMessage(value)
	} else {
		l.Raw = []byte(value)
	}
	return l
}

func TestReportsShowOnlyWhatTheyMay(t *testing.T) {
	for value, want := range map[string]string{
		`{"eventId":"e1","tripId":"t","motoristaId":"m-1","latitude":0,"longitude":-46.6,"dispositivo":"app/5","retifica":null}`: `{"dispositivo":"app/5","eventId":"e1","latitude":"(redacted)","longitude":"(redacted)","motoristaId":"(redacted)","retifica":null,"tripId":"t"}`,
		`{"rotaPrevista":[{"latitude":1,"longitude":2}],"passageiroId":"p","cartaoId":null,"cpf":"123","valor":"12.50"}`:         `{"cartaoId":null,"cpf":"(redacted)","passageiroId":"(redacted)","rotaPrevista":"(redacted)","valor":"12.50"}`,
		`{"eventId":{"latitude":1},"tripId":"` + strings.Repeat("x", 101) + `"}`:                                                 `{"eventId":"(redacted)","tripId":"(redacted)"}`,
		`"-23.5,-46.6"`: `"(13 bytes that are no record)"`,
		"hello":         `"(5 bytes that are no record)"`,
	} {
		if got := string(Redact(letter(value))); got != want {
			t.Errorf("%s:\n got %s\nwant %s", value, got, want)
		}
	}
	if got := brief("field \"motoristaId\" is \"m-1\" at byte 7\nstack of -46.6"); got != `field "..." is "..." at byte 7` {
		t.Error(got)
	}
}

func TestFilter(t *testing.T) {
	topic, key := schemas.TopicTelemetry, "t1"
	l := &Letter{Letter: simulation.Letter{Topic: &topic, Reason: schemas.DLQClockAhead, Key: &key}, At: 1000, Device: "app/5.3.1", Schema: 7}
	for _, c := range []struct {
		f    Filter
		want bool
	}{
		{Filter{}, true}, {Filter{Reasons: []schemas.Verdict{schemas.DLQPanic}}, false}, {Filter{Reasons: []schemas.Verdict{schemas.DLQPanic, schemas.DLQClockAhead}}, true},
		{Filter{Topics: []string{schemas.TopicRides}}, false}, {Filter{Topics: []string{topic}}, true}, {Filter{Since: 1000, Until: 1001}, true}, {Filter{Until: 1000}, false},
		{Filter{Since: 1001}, false}, {Filter{Trip: "t1"}, true}, {Filter{Trip: "t"}, false}, {Filter{Device: "app/5"}, true}, {Filter{Device: "app/6"}, false}, {Filter{Schema: 7}, true}, {Filter{Schema: 8}, false},
	} {
		if got := c.f.takes(l); got != c.want {
			t.Errorf("%+v takes it: %v", c.f, got)
		}
	}
}

func TestTheReportComparesWeeks(t *testing.T) {
	monday := time.Date(2026, 11, 16, 0, 0, 0, 0, time.UTC)
	r := Report{From: monday, Until: monday.AddDate(0, 0, 7), Letters: 30, Before: 40, Topics: []Count{{Of: "corridas.telemetria", Letters: 30}},
		Reasons: []Reason{{Count: Count{Of: "dlq:ilegivel", Letters: 30, Trips: 2}, Before: 20,
			Examples: []Example{{"corridas.telemetria/0/1", monday, "a|b", 3, json.RawMessage(`{"eventId":"e"}`)}}}, {Count: Count{Of: "dlq:panico"}, Before: 20}}}
	var b strings.Builder
	if err := r.Markdown(&b); err != nil {
		t.Fatal(err)
	}
	want := "# Dead letters, week 2026-W47\n\n2026-11-16 to 2026-11-22 (UTC): 30 letters; 40 the week before (-25 %).\n\n" +
		"| reason | letters | share | trips | the week before | trend |\n|---|---:|---:|---:|---:|---|\n" +
		"| `dlq:ilegivel` | 30 | 100.0 % | 2 | 20 | +50 % |\n| `dlq:panico` | 0 | 0.0 % | 0 | 20 | gone |\n" +
		"\n## By topic\n\n| topic | letters |\n|---|---:|\n| corridas.telemetria | 30 |\n" +
		"\n## Examples of `dlq:ilegivel`\n\n`corridas.telemetria/0/1`, 2026-11-16T00:00:00Z: a\\|b\n\n    {\"eventId\":\"e\"}\n"
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}
