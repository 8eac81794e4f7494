package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/cluster/node/embedded"
	"taximeter/schemas"
	"taximeter/schemas/registry"
)

// running is a registry that has read its log on a broker.
func running(t *testing.T, kafka []kgo.Opt) *registry.Server {
	t.Helper()
	r := registry.NewServer(registry.ServerConfig{Kafka: kafka})
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	select {
	case <-r.Ready():
	case err := <-ended:
		ended <- nil
		t.Fatal(err)
	}
	return r
}

// services are a broker and a registry in this process.
func services(t *testing.T) (broker, registryURL string) {
	t.Helper()
	o := embedded.DefaultOptions()
	o.Tasks = 4
	o.AppendTimes = embedded.AppendTimesFromRecords
	b, err := embedded.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	server := httptest.NewServer(running(t, []kgo.Opt{kgo.SeedBrokers(b.Seeds()...)}))
	t.Cleanup(server.Close)
	return b.Seeds()[0], server.URL
}

const produceLines = `{"topic":"corridas.eventos","appendedAt":1764000000500,"value":{"eventId":"s","tripId":"trip-a","ocorridoEm":1764000000000,"tipo":"INICIO","multiplicador":"1.500"}}
{"topic":"corridas.telemetria","appendedAt":1764000000500,"value":{"eventId":"p1","tripId":"trip-a","motoristaId":"m","ocorridoEm":1764000000000,"latitude":41,"longitude":-8.6}}
{"topic":"corridas.telemetria","appendedAt":1764000015500,"value":{"eventId":"p2","tripId":"trip-a","motoristaId":"m","ocorridoEm":1764000015000,"latitude":41.001,"longitude":-8.6,"velocidadeKmh":26.5}}
{"topic":"corridas.telemetria","appendedAt":1764000015600,"value":{"eventId":"p3","tripId":"trip-a","motoristaId":"m","ocorridoEm":"yesterday","latitude":41.001,"longitude":-8.6}}
{"topic":"corridas.telemetria","appendedAt":1764000015700,"key":"trip-a","raw":"aGVsbG8="}
{"topic":"pagamentos.eventos","appendedAt":1764000020000,"value":{"eventId":"c","tripId":"trip-a","ocorridoEm":1764000020000,"tipo":"CAPTURA","valor":"17.46","moeda":"BRL"}}
`

const tooOld = "taximeter: warning: event 1 happened at 2025-11-24 16:00:00Z, more than 24 h ago: a live node makes such events dlq:alem_do_horizonte " +
	"unless it knows their trip; add --shift-to-now, or play the files with `taximeter dev --events`\n"

// Moved to the present, the recording ends now and keeps its distances in time, and nobody
// needs to be warned.
func TestProduceShiftsToNow(t *testing.T) {
	broker, url := services(t)
	file := filepath.Join(t.TempDir(), "day.jsonl")
	if err := os.WriteFile(file, []byte(produceLines), 0o666); err != nil {
		t.Fatal(err)
	}
	where := []string{"--brokers", broker, "--registry", url}
	before := time.Now()
	got := taximeter(t, append([]string{"produce", file, "--shift-to-now"}, where...)...)
	if !strings.HasSuffix(got, "exit 0\n") || strings.Contains(got, "warning") {
		t.Fatal(got)
	}
	instant := func(topic string) (happened, appended time.Time) {
		var r struct {
			Timestamp int64 `json:"timestamp"`
			Value     struct {
				At int64 `json:"ocorridoEm"`
			} `json:"value"`
		}
		line, _, _ := strings.Cut(taximeter(t, append([]string{"consume", topic, "--max", "1", "--json"}, where...)...), "\n")
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(line, err)
		}
		return time.UnixMilli(r.Value.At), time.UnixMilli(r.Timestamp)
	}
	first, appended := instant(schemas.TopicRides)
	last, _ := instant(schemas.TopicPayments)
	if last.Sub(first) != 20*time.Second || last.Before(before.Truncate(time.Millisecond)) || time.Since(last) < 0 {
		t.Errorf("from %v to %v, sent after %v", first, last, before)
	}
	if appended.Before(before.Truncate(time.Millisecond)) {
		t.Errorf("appended at %v", appended)
	}
}

func TestProduceThenConsume(t *testing.T) {
	broker, url := services(t)
	file := filepath.Join(t.TempDir(), "day.jsonl")
	if err := os.WriteFile(file, []byte(produceLines), 0o666); err != nil {
		t.Fatal(err)
	}
	where := []string{"--brokers", broker, "--registry", url}
	taxi := func(args ...string) string { return taximeter(t, append(args, where...)...) }

	expect(t, taxi("produce", file), `corridas.telemetria             4
corridas.eventos                1
pagamentos.eventos              1
records                         6 (elapsed)
1 of them cannot be Avro and went as text: they will be dlq:ilegivel
`+tooOld+`exit 0
`)
	// By key into Kafka's own partition, in the order of the file, decoded by the registry.
	p := schemas.PartitionOf([]byte("trip-a"), 4)
	expect(t, taxi("consume", "corridas.telemetria", "--max", "4"), strings.ReplaceAll(
		`P/0  2025-11-24 16:00:00.500Z  trip-a  {"eventId":"p1","tripId":"trip-a","motoristaId":"m","ocorridoEm":1764000000000,"latitude":41,"longitude":-8.6,"velocidadeKmh":null,"precisaoM":null,"dispositivo":null,"retifica":null}
P/1  2025-11-24 16:00:15.500Z  trip-a  {"eventId":"p2","tripId":"trip-a","motoristaId":"m","ocorridoEm":1764000015000,"latitude":41.001,"longitude":-8.6,"velocidadeKmh":26.5,"precisaoM":null,"dispositivo":null,"retifica":null}
P/2  2025-11-24 16:00:15.600Z  trip-a  {"eventId":"p3","tripId":"trip-a","motoristaId":"m","ocorridoEm":"yesterday","latitude":41.001,"longitude":-8.6}
P/3  2025-11-24 16:00:15.700Z  trip-a  (not in the Confluent wire format: first byte is 0x68, want 0) "hello"
exit 0
`, "P/", fmt.Sprintf("%d/", p)))
	expect(t, taxi("consume", "pagamentos.eventos", "--max", "1", "--json"), fmt.Sprintf(
		`{"topic":"pagamentos.eventos","partition":%d,"offset":0,"timestamp":1764000020000,"key":"trip-a","value":{"eventId":"c","tripId":"trip-a","ocorridoEm":1764000020000,"tipo":"CAPTURA","valor":"17.46","moeda":"BRL","meio":null,"cartaoId":null,"retifica":null,"fatura":null}}
exit 0
`, p))
	raw := taxi("consume", "corridas.telemetria", "--max", "4", "--json")
	if last := strings.Split(raw, "\n")[3]; !strings.Contains(last, `"raw":"aGVsbG8="`) || !json.Valid([]byte(last)) {
		t.Errorf("a value that is no frame: %s", last)
	}
}

func TestConsumeShowsDeadLettersAndDeletions(t *testing.T) {
	broker, url := services(t)
	client, err := kgo.NewClient(kgo.SeedBrokers(broker))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	at := time.UnixMilli(1764000000000)
	for _, r := range []*kgo.Record{
		{Topic: schemas.TopicDLQ, Key: nil, Value: []byte("\x00\x00\x00\x00\x63!"), Timestamp: at, Headers: []kgo.RecordHeader{
			{Key: schemas.HeaderReason, Value: []byte("dlq:esquema_desconhecido")}, {Key: schemas.HeaderDetail, Value: []byte("schema 99")}}},
		{Topic: schemas.TopicTariffs, Key: []byte("centro/*/0"), Timestamp: at},
	} {
		if err := client.ProduceSync(t.Context(), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	where := []string{"--max", "1", "--brokers", broker, "--registry", url}
	got := taximeter(t, append([]string{"consume", schemas.TopicDLQ}, where...)...)
	for _, want := range []string{"(no key)", `"\x00\x00\x00\x00c!"`, "dlq:esquema_desconhecido  schema 99\nexit 0\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in %s", want, got)
		}
	}
	expect(t, taximeter(t, append([]string{"consume", schemas.TopicTariffs}, where...)...), "0/0  2025-11-24 16:00:00Z  centro/*/0  (deleted)\nexit 0\n")
}

// Interrupting is how a reader ends: no error.
func TestConsumeEndsWhenInterrupted(t *testing.T) {
	broker, url := services(t)
	client, err := kgo.NewClient(kgo.SeedBrokers(broker))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.ProduceSync(t.Context(), &kgo.Record{Topic: schemas.TopicAlerts, Key: []byte("centro")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	ctx, interrupt := context.WithTimeout(t.Context(), 30*time.Second)
	defer interrupt()
	lines, stdout := io.Pipe()
	var stderr strings.Builder
	done := make(chan int, 1)
	go func() {
		code := run(ctx, []string{"consume", schemas.TopicAlerts, "--brokers", broker, "--registry", url}, stdout, &stderr)
		_ = stdout.Close()
		done <- code
	}()
	if line, err := bufio.NewReader(lines).ReadString('\n'); err != nil || !strings.Contains(line, "centro  (deleted)") {
		t.Fatalf("%q, %v", line, err)
	}
	interrupt()
	if code := <-done; code != exitOK || stderr.Len() > 0 {
		t.Errorf("exit %d: %s", code, stderr.String())
	}
}

func TestProduceFaults(t *testing.T) {
	broker, url := services(t)
	file := filepath.Join(t.TempDir(), "day.jsonl")
	lines := strings.SplitAfter(produceLines, "\n")
	if err := os.WriteFile(file, []byte(lines[0]+"{\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	dead := "http://127.0.0.1:1"
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"produce", file, "--brokers", broker, "--registry", dead}, "no schema registry answers at " + dead},
		{[]string{"produce", file, "--brokers", broker, "--registry", url}, file + ":2: not valid JSON: the line is cut short"},
		{[]string{"consume", schemas.TopicRides, "--brokers", broker, "--registry", dead}, "no schema registry answers at " + dead},
	} {
		got := taximeter(t, c.args...)
		if !strings.Contains(got, c.want) || !strings.HasSuffix(got, "exit 1\n") {
			t.Errorf("%v: want %q in\n%s", c.args, c.want, got)
		}
	}
	// What stood before the bad line was sent.
	expect(t, taximeter(t, "consume", schemas.TopicRides, "--max", "1", "--json", "--brokers", broker, "--registry", url)[:28], `{"topic":"corridas.eventos",`)
}

func TestTopicsMustBeThereAndAlike(t *testing.T) {
	cluster := emptyCluster(t, map[string]int32{schemas.TopicTelemetry: 3, schemas.TopicRides: 2, schemas.TopicPayments: 3})
	file := filepath.Join(t.TempDir(), "day.jsonl")
	if err := os.WriteFile(file, []byte(produceLines), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"consume", schemas.TopicAlerts, "--brokers", cluster}, "topic corridas.alertas: UNKNOWN_TOPIC_OR_PARTITION"},
		{[]string{"produce", file, "--brokers", cluster}, "corridas.eventos has 2 partitions and corridas.telemetria has 3"},
	} {
		if got := taximeter(t, c.args...); !strings.Contains(got, c.want) || !strings.HasSuffix(got, "exit 1\n") {
			t.Errorf("%v: want %q in\n%s", c.args, c.want, got)
		}
	}
}

// emptyCluster is a broker with only these topics.
func emptyCluster(t *testing.T, partitions map[string]int32) (address string) {
	t.Helper()
	options := []kfake.Opt{kfake.NumBrokers(1)}
	for topic, n := range partitions {
		options = append(options, kfake.SeedTopics(n, topic))
	}
	cluster, err := kfake.NewCluster(options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	return cluster.ListenAddrs()[0]
}

func expect(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestBrokenTellsTheFirstCause(t *testing.T) {
	ctx, fail := context.WithCancelCause(t.Context())
	if err := broken(ctx, nil); err != nil {
		t.Errorf("nothing is broken: %v", err)
	}
	refused := errors.New("MESSAGE_TOO_LARGE")
	fail(refused)
	if err := broken(ctx, ctx.Err()); !errors.Is(err, refused) {
		t.Errorf("%v", err)
	}
}
