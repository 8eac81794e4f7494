package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/cmd/internal/catalogue"
	"taximeter/internal/access"
	"taximeter/schemas"
	"taximeter/schemas/edge"
	"taximeter/schemas/registry"
)

const (
	someTariffs = `[{"tarifaId":"centro-1","regiao":"centro","categoria":"*","vigenteDesde":"2025-01-01T00:00:00Z","moeda":"BRL",
  "bandeirada":"4.50","precoKm":"2.00","precoMin":"0.30","minimo":"8.00","taxaCancelamento":"5.00","carenciaS":120},
 {"tarifaId":"centro-2","regiao":"centro","categoria":"*","vigenteDesde":"2025-06-01T00:00:00Z","moeda":"BRL",
  "bandeirada":"4.50","precoKm":"2.125","precoMin":"0.30","minimo":"8.00","taxaCancelamento":"5.00","carenciaS":120}]`
	someRules = `[{"regraId":"rapido","versao":1,"tipo":"velocidade","ativa":true,"vigenteDesde":"2025-01-01T00:00:00Z","regioes":["centro"],"parametros":{"limiarKmh":"110","pontos":"3"}}]`
)

func TestCatalogueIsPublishedOnceAndShown(t *testing.T) {
	broker, url := services(t)
	t.Chdir(t.TempDir())
	write := func(name, text string) {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("tarifas.json", someTariffs)
	write("regras.json", someRules)
	taxi := func(args ...string) string {
		return strings.ReplaceAll(taximeter(t, append(args, "--brokers", broker, "--registry", url)...), broker, "$BROKER")
	}
	publish := []string{"catalogue", "publish", "--tariffs", "tarifas.json", "--rules", "regras.json"}

	news := `tariffs  2 new, 0 changed, 0 unchanged
  new      centro-1 for centro, any, in force from 2025-01-01 00:00:00Z
  new      centro-2 for centro, any, in force from 2025-06-01 00:00:00Z
rules    1 new, 0 changed, 0 unchanged
  new      rapido version 1, in force from 2025-01-01 00:00:00Z
`
	expect(t, taxi(append(publish, "--dry-run")...), news+"dry run: nothing was sent to $BROKER\nexit 0\n")
	expect(t, taxi("catalogue", "show"), "tariffs: 0\nalert rules: 0\nexit 0\n")
	expect(t, taxi(publish...), news+"published to $BROKER\nexit 0\n")
	expect(t, taxi(publish...), "tariffs  0 new, 0 changed, 2 unchanged\nrules    0 new, 0 changed, 1 unchanged\nnothing to send: all of it is in force at $BROKER\nexit 0\n")
	expect(t, taxi("catalogue", "show"), `tariffs: 2
  region  category  from                          tariff    currency  base  per km  per min  minimum  cancelled  free for
  centro  any       2025-01-01 00:00:00Z  before  centro-1  BRL       4.50    2.00     0.30     8.00       5.00     120 s
  centro  any       2025-06-01 00:00:00Z  now     centro-2  BRL       4.50   2.125     0.30     8.00       5.00     120 s
alert rules: 1
  rule    version  from                       kind        regions  categories  parameters
  rapido        1  2025-01-01 00:00:00Z  now  velocidade  centro   all         limiarKmh=110 pontos=3
exit 0
`)

	write("tarifas.json", strings.ReplaceAll(someTariffs, `"2.125"`, `"2.25"`))
	expect(t, taxi("catalogue", "publish", "--tariffs", "tarifas.json", "--json"), `{
  "tarifas": {
    "novas": [],
    "mudadas": [
      "centro/*/1748736000000"
    ],
    "iguais": [
      "centro/*/1735689600000"
    ]
  },
  "regras": {
    "novas": [],
    "mudadas": [],
    "iguais": []
  },
  "enviado": true
}
exit 0
`)
	// What is shown as JSON can be published again.
	have, err := catalogue.Read(t.Context(), access.Kafka{Brokers: []string{broker}}, mustRegistry(t, url))
	if err != nil {
		t.Fatal(err)
	}
	want, err := edge.ReadTariffs("tarifas.json", strings.NewReader(strings.ReplaceAll(someTariffs, `"2.125"`, `"2.25"`)))
	if err != nil {
		t.Fatal(err)
	}
	if c := have.TariffChanges(want); len(c.Unchanged) != 2 || len(have.Tariffs) != 2 || len(have.Rules) != 1 || len(have.Refused) != 0 {
		t.Errorf("%+v", have)
	}
}

func TestCatalogueTellsWhatANodeRefuses(t *testing.T) {
	broker, url := services(t)
	client, err := kgo.NewClient(kgo.SeedBrokers(broker))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	bad := []schemas.Tariff{{TariffID: "t", Region: "centro", Category: "*", Currency: "BRL", PerKm: -1}}
	if err := catalogue.Publish(t.Context(), client, mustRegistry(t, url), bad, nil); err != nil {
		t.Fatal(err)
	}
	if err := client.ProduceSync(t.Context(), &kgo.Record{Topic: schemas.TopicRules, Key: []byte("r/1"), Value: []byte("hello"), Timestamp: time.Now()}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	expect(t, taximeter(t, "catalogue", "show", "--brokers", broker, "--registry", url), `tariffs: 0
alert rules: 0
refused: corridas.tarifas offset 0, key "centro/*/0": precoKm: must not be negative: -0.000001
refused: corridas.regras offset 0, key "r/1": not in the Confluent wire format: first byte is 0x68, want 0
exit 0
`)
}

func TestCatalogueFaults(t *testing.T) {
	broker, url := services(t)
	apart := emptyCluster(t, map[string]int32{schemas.TopicTariffs: 2, schemas.TopicRules: 1})
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := write("tarifas.json", someTariffs)
	where := []string{"--brokers", broker, "--registry", url}
	for _, c := range []struct {
		args []string
		want string
		exit string
	}{
		{append([]string{"publish"}, where...), "nothing to publish; give --tariffs FILE, --rules FILE or both", "exit 2\n"},
		{append([]string{"publish", "--tariffs", write("bad.json", strings.ReplaceAll(someTariffs, "2.125", "2,125"))}, where...), "[1].precoKm: not a decimal", "exit 1\n"},
		{append([]string{"publish", "--tariffs", good, "--rules", write("rules.json", strings.ReplaceAll(someRules, "limiarKmh", "limite"))}, where...), `rule "rapido" version 1: parametros.limiarKmh`, "exit 1\n"},
		{[]string{"publish", "--tariffs", good, "--brokers", broker, "--registry", "http://127.0.0.1:1"}, "no schema registry answers at http://127.0.0.1:1", "exit 1\n"},
		{[]string{"show", "--brokers", apart, "--registry", url}, "the topic has 2 partitions and must have 1", "exit 1\n"},
	} {
		got := taximeter(t, append([]string{"catalogue"}, c.args...)...)
		if !strings.Contains(got, c.want) || !strings.HasSuffix(got, c.exit) {
			t.Errorf("%v: want %q in\n%s", c.args, c.want, got)
		}
		if strings.Contains(got, "no schema registry") && !strings.Contains(c.want, "no schema registry") {
			t.Errorf("%v: blames the registry:\n%s", c.args, got)
		}
	}
	expect(t, taximeter(t, append([]string{"catalogue", "show"}, where...)...), "tariffs: 0\nalert rules: 0\nexit 0\n") // nothing of all that was sent
}

func mustRegistry(t *testing.T, url string) *registry.Client {
	t.Helper()
	c, err := registry.NewClient(registry.ClientConfig{URLs: []string{url}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
