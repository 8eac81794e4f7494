package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/cluster/node/embedded"
	"taximeter/schemas"
	"taximeter/schemas/avro"
	"taximeter/schemas/codec"
	"taximeter/schemas/registry"
)

const deadline = 20 * time.Second

// world is a broker with the contract's topics, and a registry.
type world struct {
	*testing.T
	seeds    []string
	registry *registry.Client
	schema   int
	client   *kgo.Client
	sent     int
}

func newWorld(t *testing.T) *world {
	t.Helper()
	o := embedded.DefaultOptions()
	o.Tasks = 4
	broker, err := embedded.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := broker.Close(); err != nil {
			t.Error(err)
		}
	})
	w := &world{T: t, seeds: broker.Seeds()}
	server := registry.NewServer(registry.ServerConfig{Kafka: []kgo.Opt{kgo.SeedBrokers(w.seeds...)}})
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	<-server.Ready()
	answers := httptest.NewServer(server)
	t.Cleanup(answers.Close)
	if w.registry, err = registry.NewClient(registry.ClientConfig{URLs: []string{answers.URL}}); err != nil {
		t.Fatal(err)
	}
	if w.schema, err = w.registry.Register(t.Context(), avro.Subject(schemas.TopicAlerts), avro.Alerta); err != nil {
		t.Fatal(err)
	}
	w.client = w.kafka()
	return w
}

func (w *world) kafka(opts ...kgo.Opt) *kgo.Client {
	w.Helper()
	client, err := kgo.NewClient(append(opts, kgo.SeedBrokers(w.seeds...), kgo.FetchMaxWait(100*time.Millisecond))...)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(client.Close)
	return client
}

// start runs a deliverer until the returned function is called.
func (w *world) start(cfg Config) (d *Deliverer, stop func()) {
	w.Helper()
	if faults := cfg.Faults("alerts"); len(faults) > 0 {
		w.Fatal(faults)
	}
	d, err := New(cfg, Options{Client: []kgo.Opt{kgo.SeedBrokers(w.seeds...), kgo.FetchMaxWait(100 * time.Millisecond)}, Namespace: "ns", Registry: w.registry, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		w.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		err := d.Run(ctx)
		if err != nil {
			w.Errorf("the deliverer ended: %v", err)
		}
		ended <- err
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			w.Error(err)
		}
	})
	w.Cleanup(stop)
	return d, stop
}

// begun waits until the group knows where it begins: what is sent from now on is delivered.
func (w *world) begun() {
	w.Helper()
	w.await("the group's first offsets", func() bool { return len(w.committed()) > 0 })
}

func (w *world) committed() map[int32]int64 {
	w.Helper()
	offsets, err := kadm.NewClient(w.client).FetchOffsets(w.Context(), Group("ns"))
	if err != nil && !errors.Is(err, kerr.GroupIDNotFound) {
		w.Fatal(err)
	}
	at := map[int32]int64{}
	offsets.Each(func(o kadm.OffsetResponse) { at[o.Partition] = o.At })
	return at
}

// caughtUp waits until the group's offsets are the topic's ends.
func (w *world) caughtUp() {
	w.Helper()
	w.await("offsets at the end", func() bool {
		ends, err := kadm.NewClient(w.client).ListEndOffsets(w.Context(), schemas.TopicAlerts)
		if err != nil {
			w.Fatal(err)
		}
		at, behind := w.committed(), false
		ends.Each(func(e kadm.ListedOffset) { behind = behind || at[e.Partition] != e.Offset })
		return !behind
	})
}

func (w *world) await(what string, holds func() bool) {
	w.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(deadline); !holds(); <-tick.C {
		if time.Now().After(end) {
			w.Fatalf("%s: not within %s", what, deadline)
		}
	}
}

// alert number n of a region.
func alert(region, kind string, n int) schemas.Alert {
	return schemas.Alert{AlertID: region + "-" + strconv.Itoa(n), RuleID: "r", RuleVersion: 1, Kind: kind, TripID: "trip-1", Region: region, Category: "moto",
		OnsetID: "e1", OnsetAt: 1764000000000, DecidedAt: 1764000060000, Details: map[string]string{"silencioS": "60.000"}}
}

// send writes n more alerts of a region.
func (w *world) send(region, kind string, n int) {
	w.Helper()
	for range n {
		w.sent++
		a := alert(region, kind, w.sent)
		value, err := codec.AppendAlert(nil, w.schema, &a)
		if err != nil {
			w.Fatal(err)
		}
		w.put([]byte(region), value, "ns")
	}
	if err := w.client.Flush(w.Context()); err != nil {
		w.Fatal(err)
	}
}

func (w *world) put(key, value []byte, namespace string) {
	w.client.Produce(w.Context(), &kgo.Record{Topic: schemas.TopicAlerts, Key: key, Value: value,
		Headers: []kgo.RecordHeader{{Key: schemas.HeaderNamespace, Value: []byte(namespace)}}}, func(_ *kgo.Record, err error) {
		if err != nil {
			w.Error(err)
		}
	})
}

// undelivered waits for so many records of the topic for what nobody took.
func (w *world) undelivered(n int) (all []map[string]string) {
	w.Helper()
	client := w.kafka(kgo.ConsumeTopics(schemas.TopicUndelivered), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	defer client.Close()
	ctx, cancel := context.WithTimeout(w.Context(), deadline)
	defer cancel()
	for len(all) < n {
		fetches := client.PollFetches(ctx)
		if ctx.Err() != nil {
			w.Fatalf("%d of %d undelivered: %v", len(all), n, all)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			one := map[string]string{"key": string(r.Key), "value": string(r.Value)}
			for _, h := range r.Headers {
				one[h.Key] = string(h.Value)
			}
			all = append(all, one)
		})
	}
	return all
}

// metric is the value of a counter or gauge with these values of its labels.
func metric(t *testing.T, d *Deliverer, name string, labels ...string) (value float64) {
	t.Helper()
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(d.Metrics())
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var has []string
			for _, l := range m.GetLabel() {
				has = append(has, l.GetValue())
			}
			if f.GetName() == name && slices.Equal(has, labels) {
				value += m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return value
}

// endpoint is where people listen.
type endpoint struct {
	*httptest.Server
	mu     sync.Mutex                                          // guards what follows
	answer func(n int, w http.ResponseWriter, r *http.Request) // n counts requests from 1; nil = 200
	seen   []request
}

type request struct {
	header http.Header
	body   string
	status int
}

func newEndpoint(t *testing.T, serve func(http.Handler) *httptest.Server, answer func(n int, w http.ResponseWriter, r *http.Request)) *endpoint {
	e := &endpoint{answer: answer}
	n := 0
	e.Server = serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		e.mu.Lock()
		n++
		number := n
		e.mu.Unlock()
		rec := httptest.NewRecorder()
		if answer != nil {
			answer(number, rec, r)
		}
		for k, v := range rec.Header() {
			w.Header()[k] = v
		}
		e.mu.Lock()
		e.seen = append(e.seen, request{r.Header, string(text), rec.Code})
		e.mu.Unlock()
		w.WriteHeader(rec.Code)
		_, _ = w.Write(rec.Body.Bytes()) // who has hung up does not matter
	}))
	t.Cleanup(e.Close)
	return e
}

// took are the ids of the alerts that were answered with 200, in their order.
func (e *endpoint) took() (ids []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, r := range e.seen {
		if r.status == http.StatusOK {
			ids = append(ids, r.header.Get("Idempotency-Key"))
		}
	}
	return ids
}

func (e *endpoint) requests() []request {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.seen)
}

// ids of alerts a to b of a region.
func ids(region string, a, b int) (all []string) {
	for n := a; n <= b; n++ {
		all = append(all, fmt.Sprintf("%s-%d", region, n))
	}
	return all
}

func decodeJSON(t *testing.T, text string) (m map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatal(text, err)
	}
	return m
}
