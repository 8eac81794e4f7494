package kafkaout

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"taximeter/checkpoint"
	"taximeter/schemas"
)

const (
	deadline = 20 * time.Second
	tasks    = 4
	ours3    = schemas.Partition(3) // the partition under test
)

// world is a broker with all topics.
type world struct {
	*testing.T
	cluster *kfake.Cluster
	kafka   *Kafka
}

func newWorld(t *testing.T, opts ...kfake.Opt) *world {
	t.Helper()
	cluster, err := kfake.NewCluster(append(opts, kfake.NumBrokers(1), kfake.SeedTopics(tasks, schemas.TopicTelemetry, schemas.TopicRides,
		schemas.TopicPayments, schemas.TopicWindows, schemas.TopicDLQ, schemas.TopicAlerts))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	w := &world{T: t, cluster: cluster}
	w.kafka = w.node("ns")
	if err := w.kafka.EnsureTopics(w.ctx(), tasks); err != nil {
		t.Fatal(err)
	}
	return w
}

// node is another process of a namespace.
func (w *world) node(namespace string, client ...kgo.Opt) *Kafka {
	w.Helper()
	k, err := New(Options{Client: append(client, kgo.SeedBrokers(w.cluster.ListenAddrs()...), kgo.FetchMaxWait(100*time.Millisecond)), Namespace: namespace, Schemas: SchemaIDs{1, 2, 3}})
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(k.Close)
	return k
}

func (w *world) ctx() context.Context {
	ctx, cancel := context.WithTimeout(w.Context(), deadline)
	w.Cleanup(cancel)
	return ctx
}

func (w *world) open(k *Kafka) *Voice {
	w.Helper()
	v, err := openVoice(w.ctx(), k, ours3)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(v.Close)
	return v
}

func (w *world) marker(v *Voice) checkpoint.Number {
	w.Helper()
	made, err := v.Marker(w.ctx())
	if err != nil {
		w.Fatal(err)
	}
	return made
}

func (w *world) publish(v *Voice, made checkpoint.Number, o schemas.Outbox) {
	w.Helper()
	if err := v.Publish(w.ctx(), made, o); err != nil {
		w.Fatal(err)
	}
}

// committed is what a read_committed consumer sees of a topic in the partition under test.
func (w *world) committed(topic string) []*kgo.Record {
	w.Helper()
	var all []*kgo.Record
	for p := range int32(tasks) {
		all = append(all, w.read(topic, p)...)
	}
	return all
}

func (w *world) read(topic string, p int32) []*kgo.Record {
	w.Helper()
	ends, err := w.kafka.admin.ListCommittedOffsets(w.ctx(), topic)
	if err != nil {
		w.Fatal(err)
	}
	end, _ := ends.Lookup(topic, p)
	client, err := kgo.NewClient(kgo.SeedBrokers(w.cluster.ListenAddrs()...), kgo.FetchMaxWait(100*time.Millisecond), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.KeepControlRecords(), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {p: kgo.NewOffset().AtStart()}}))
	if err != nil {
		w.Fatal(err)
	}
	defer client.Close()
	var all []*kgo.Record
	for next := int64(0); next < end.Offset; {
		fetches := client.PollFetches(w.ctx())
		if err := fetches.Err(); err != nil {
			w.Fatal(err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			next = r.Offset + 1
			if !r.Attrs.IsControl() {
				all = append(all, r)
			}
		})
	}
	return all
}

func bill(trip string, version int) schemas.Bill {
	id := schemas.TripID(trip)
	return schemas.Bill{TripID: id, EventID: schemas.BillEventID(id, version), Version: version, Amount: 1234, Currency: "BRL", TariffID: "t",
		Region: "r", Category: "c", Multiplier: schemas.OneMils, Start: schemas.MinInstant, End: schemas.MinInstant + schemas.Minute}
}

// outbox number n, told apart by its trips.
func outbox(n checkpoint.Number) schemas.Outbox {
	var o schemas.Outbox
	for i := range 1 + int(n)%3 {
		o.Bills = append(o.Bills, bill(fmt.Sprintf("trip-%d-%d", n, i), 1))
	}
	o.Windows = append(o.Windows, schemas.Window{TripID: schemas.TripID(fmt.Sprintf("trip-%d", n)), Start: schemas.MinInstant, Version: 1})
	return o
}

var errCrashed = errors.New("the process is dead")

// crasher is a network that dies with a process at its n-th request of a transaction,
// before the broker has it or after the broker has done it.
type crasher struct {
	mu    sync.Mutex
	left  int  // requests until the crash; < 0 = never
	after bool // the broker has done it
	dead  bool
	died  func()
	conns []net.Conn
}

func (c *crasher) dial(ctx context.Context, network, host string) (net.Conn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead {
		return nil, errCrashed
	}
	conn, err := new(net.Dialer).DialContext(ctx, network, host)
	if err != nil {
		return nil, err
	}
	c.conns = append(c.conns, conn)
	return &crashConn{Conn: conn, c: c}, nil
}

// crash makes every connection useless at once.
func (c *crasher) crash() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead {
		return
	}
	c.dead = true
	for _, conn := range c.conns {
		_ = conn.Close()
	}
	c.died()
}

// due reports whether this request is the last one.
func (c *crasher) due(request []byte) bool {
	switch kmsg.Key(binary.BigEndian.Uint16(request[4:])) {
	case kmsg.InitProducerID, kmsg.AddPartitionsToTxn, kmsg.Produce, kmsg.EndTxn:
	default:
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left--
	return c.left == 0
}

type crashConn struct {
	net.Conn
	c *crasher
}

func (c *crashConn) Write(request []byte) (int, error) {
	if c.c.due(request) {
		if !c.c.after {
			c.c.crash()
			return 0, errCrashed
		}
		n, err := c.Conn.Write(request)
		if err == nil {
			_, err = c.Conn.Read(make([]byte, 1)) // the broker has answered
		}
		c.c.crash()
		return n, errors.Join(err, errCrashed)
	}
	return c.Conn.Write(request)
}

// Voice is all that one run of a partition sends with.
type Voice struct {
	*Publisher
	*Alerts
}

func openVoice(ctx context.Context, k *Kafka, p schemas.Partition) (*Voice, error) {
	publisher, err := k.OpenPublisher(ctx, p)
	if err != nil {
		return nil, err
	}
	alerts, err := k.OpenAlerts(ctx, p)
	if err != nil {
		publisher.Close()
		return nil, err
	}
	return &Voice{publisher, alerts}, nil
}

// Close ends both. A transaction under way stays open until the next Open of the
// partition or the broker aborts it.
func (v *Voice) Close() {
	v.Publisher.Close()
	v.Alerts.Close()
}
