package ingest

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/schemas"
	"taximeter/schemas/codec"
)

const deadline = 20 * time.Second

// world is a broker, a Source that reads it, and what the Source reported.
type world struct {
	*testing.T
	cluster  *kfake.Cluster
	client   *kgo.Client // not transactional, partition by hand
	source   *Source
	registry *registryFake
	faults   chan error
}

func newWorld(t *testing.T, change func(*Options)) *world {
	t.Helper()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(4, inputNames...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	w := &world{T: t, cluster: cluster, registry: &registryFake{}, faults: make(chan error, 100)}
	w.client = w.newClient()
	o := Options{Client: []kgo.Opt{kgo.SeedBrokers(cluster.ListenAddrs()...)}, Namespace: "ns", Decoder: newDecoderFake(), Registry: w.registry,
		OnFault: func(err error) { w.faults <- err }, AppendTimes: AppendTimesFromRecords, ProbeEvery: 20 * time.Millisecond}
	if change != nil {
		change(&o)
	}
	if w.source, err = New(o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.source.Close)
	return w
}

func (w *world) newClient(opts ...kgo.Opt) *kgo.Client {
	w.Helper()
	client, err := kgo.NewClient(append(opts, kgo.SeedBrokers(w.cluster.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()))...)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(client.Close)
	return client
}

func (w *world) admin() *kadm.Client { return kadm.NewClient(w.client) }

func (w *world) ctx() context.Context {
	ctx, cancel := context.WithTimeout(w.Context(), deadline)
	w.Cleanup(cancel)
	return ctx
}

func (w *world) produce(client *kgo.Client, rs ...*kgo.Record) {
	w.Helper()
	if err := client.ProduceSync(w.ctx(), rs...).FirstErr(); err != nil {
		w.Fatal(err)
	}
}

// transaction produces within one transaction and ends it.
func (w *world) transaction(client *kgo.Client, end kgo.TransactionEndTry, rs ...*kgo.Record) {
	w.Helper()
	if err := client.BeginTransaction(); err != nil {
		w.Fatal(err)
	}
	w.produce(client, rs...)
	if err := client.EndTransaction(w.ctx(), end); err != nil {
		w.Fatal(err)
	}
}

// add reads a partition from offsets into an inbox with room for all that may be out.
func (w *world) add(p schemas.Partition, offsets [schemas.NumInputs]schemas.Offset) chan *Batch {
	w.Helper()
	inbox := make(chan *Batch, credit)
	if err := w.source.Add(p, offsets, func(b *Batch) { inbox <- b }); err != nil {
		w.Fatal(err)
	}
	return inbox
}

func (w *world) next(inbox chan *Batch) *Batch {
	w.Helper()
	select {
	case b := <-inbox:
		return b
	case err := <-w.faults:
		w.Fatalf("fault: %v", err)
	case <-time.After(deadline):
		w.Fatal("no batch came")
	}
	return nil
}

func (w *world) fault() error {
	w.Helper()
	select {
	case err := <-w.faults:
		return err
	case <-time.After(deadline):
		w.Fatal("no fault came")
	}
	return nil
}

// until waits for the status of a partition to satisfy ok.
func (w *world) until(p schemas.Partition, ok func([schemas.NumInputs]LaneStatus) bool) {
	w.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(deadline); ; <-tick.C {
		status, known, err := w.source.Status(p)
		switch {
		case err != nil:
			w.Fatal(err)
		case known && ok(status):
			return
		case time.Now().After(end):
			w.Fatalf("status stays %+v", status)
		}
	}
}

// on runs f on the Source's goroutine.
func (w *world) on(f func()) {
	w.Helper()
	if err := w.source.call(f); err != nil {
		w.Fatal(err)
	}
}

// record is one whose value the fake decoder reads: schema 1 and an event id.
func record(topic schemas.Topic, p int32, id string) *kgo.Record {
	return withSchema(topic, p, 1, id)
}

func withSchema(topic schemas.Topic, p int32, schema int, id string) *kgo.Record {
	value := binary.BigEndian.AppendUint32([]byte{0}, uint32(schema))
	return &kgo.Record{Topic: topic.String(), Partition: p, Key: []byte("trip"), Value: append(value, id...)}
}

// decoderFake reads wire-format values whose body is the event id, or "bad...".
type decoderFake struct {
	mu    sync.Mutex
	known map[int]bool
}

func newDecoderFake() *decoderFake { return &decoderFake{known: map[int]bool{1: true}} }

var errBad = errors.New("bad value")

func (d *decoderFake) Decode(topic schemas.Topic, value []byte, ev *schemas.Event) error {
	*ev = schemas.Event{Topic: topic}
	id, err := codec.SchemaID(value)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.known[id] {
		return &codec.UnknownSchemaError{ID: id}
	}
	body := string(value[5:])
	if strings.HasPrefix(body, "bad") {
		return errBad
	}
	ev.EventID, ev.TripID = schemas.EventID(body), "trip"
	if topic == schemas.Payments {
		ev.Kind = schemas.PayBill
	}
	return nil
}

func (d *decoderFake) Knows(_ schemas.Topic, id int) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.known[id]
}

func (d *decoderFake) Learn(_ schemas.Topic, id int, _ string, _ ...string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.known[id] = true
	return nil
}

type registryFake struct {
	mu    sync.Mutex
	err   error
	asked int
	gate  chan struct{} // not nil: answers come when it is closed
}

func (r *registryFake) answer(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = err
}

func (r *registryFake) SchemaByID(ctx context.Context, _ int) (string, error) {
	if r.gate != nil {
		select {
		case <-r.gate:
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked++
	return "{}", r.err
}

// all is the records of the batch.
func (b *Batch) all() (all []schemas.Record) {
	for piece := range b.Pieces {
		all = append(all, piece.Records...)
	}
	return all
}

func ids(b *Batch) string {
	var all []string
	for _, r := range b.all() {
		if r.Fault != schemas.Counted {
			all = append(all, r.Fault.String())
			continue
		}
		all = append(all, string(r.EventID))
	}
	return strings.Join(all, " ")
}

// at gives the record an append time in ms.
func at(ms int64, r *kgo.Record) *kgo.Record {
	r.Timestamp = time.UnixMilli(ms)
	return r
}

func name(i int) string { return fmt.Sprintf("e%d", i) }
