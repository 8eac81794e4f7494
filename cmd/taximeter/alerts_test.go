package main

import (
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/schemas"
	"taximeter/schemas/avro"
	"taximeter/schemas/codec"
	"taximeter/schemas/registry"
)

func TestAlertsTailSelects(t *testing.T) {
	broker, url := services(t)
	r, err := registry.NewClient(registry.ClientConfig{URLs: []string{url}})
	if err != nil {
		t.Fatal(err)
	}
	id, err := r.Register(t.Context(), avro.Subject(schemas.TopicAlerts), avro.Alerta)
	if err != nil {
		t.Fatal(err)
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(broker))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	at := time.Now().Add(-time.Hour).Truncate(time.Second)
	send := func(alertID, region, kind string, ago time.Duration) {
		t.Helper()
		value, err := codec.AppendAlert(nil, id, &schemas.Alert{AlertID: alertID, RuleID: "r", RuleVersion: 2, Kind: kind, TripID: "t1", Region: region,
			OnsetID: "e", OnsetAt: 1764000000000, DecidedAt: 1764000060000, Details: map[string]string{"silencioS": "60.000", "a": "b"}})
		if err != nil {
			t.Fatal(err)
		}
		if err := client.ProduceSync(t.Context(), &kgo.Record{Topic: schemas.TopicAlerts, Key: []byte(region), Value: value, Timestamp: at.Add(-ago)}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	send("a1", "recife", "parada", 24*time.Hour)
	send("a2", "recife", "sem_sinal", 0)
	send("a3", "natal", "parada", 0)
	send("a4", "", "parada", 0)
	tail := func(args ...string) string {
		return taximeter(t, append([]string{"alerts", "tail", "--max", "1", "--brokers", broker, "--registry", url}, args...)...)
	}
	when := at.UTC().Format(time.DateTime)
	expect(t, tail("--since", "2h", "--region", "recife"), when+"Z  sem_sinal           recife/(none)  trip t1 since 2025-11-24 16:00:00Z  a=b  silencioS=60.000  rule r version 2\nexit 0\n")
	if got := tail("--since", "2d", "--kind", "parada", "--region", "recife", "--json"); !strings.HasPrefix(got, `{"alertId":"a1",`) {
		t.Error(got)
	}
	if got := tail("--since", "2h", "--region", `""`, "--json"); !strings.HasPrefix(got, `{"alertId":"a4",`) {
		t.Error(got)
	}
	for want, args := range map[string][]string{"the kinds are parada,": {"--kind", "paradas"}, "how long ago": {"--since", "yesterday"}, "--max -1": {"--max", "-1"}} {
		if got := tail(args...); !strings.Contains(got, want) || !strings.HasSuffix(got, "exit 2\n") {
			t.Errorf("want %q in %s", want, got)
		}
	}
}
