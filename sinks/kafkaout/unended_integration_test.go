//go:build integration

package kafkaout

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"taximeter/checkpoint"
	"taximeter/internal/kafkaserver"
	"taximeter/internal/serverstest"
	"taximeter/schemas"
)

// pair is Kafka itself, two brokers: the first coordinates all transactions, the second has the log of
// alerts' ids and the dead letters.
type pair struct {
	*testing.T
	seed   string
	second kafkaserver.Server
	down   func() // kills the second broker
	client *kgo.Client
	admin  *kadm.Client
}

func newPair(t *testing.T) *pair {
	t.Helper()
	at, err := kafkaserver.Addresses(3)
	if err != nil {
		t.Fatal(err)
	}
	first := serverstest.Kafka(t)
	// The first counts the second as dead soon.
	if err := first.Prepare([]kafkaserver.Listener{{Name: "INTERNAL", Address: at[0]}}, at[1], []string{"broker.session.timeout.ms=2000", "broker.heartbeat.interval.ms=500"}); err != nil {
		t.Fatal(err)
	}
	p := &pair{T: t, seed: at[0], second: serverstest.Kafka(t)}
	serverstest.Start(t, first)
	client, err := kgo.NewClient(kgo.SeedBrokers(at[0]))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	p.client, p.admin = client, kadm.NewClient(client)
	var cluster string
	p.until("the first broker answers", func(ctx context.Context) bool {
		m, err := p.admin.BrokerMetadata(ctx)
		cluster = m.Cluster
		return err == nil
	})
	// While it is alone it takes the coordinators' log.
	p.create(1, schemas.TopicAlerts, schemas.TopicPayments, schemas.TopicWindows, schemas.TopicCommits)
	a, err := p.node(nil).OpenAlerts(p.ctx(), 0)
	if err != nil {
		t.Fatal(err)
	}
	a.Close()
	if err := p.second.Join(cluster, 2, at[2], at[1], "broker.heartbeat.interval.ms=500"); err != nil {
		t.Fatal(err)
	}
	p.up()
	p.create(2, schemas.TopicAlertIDs, schemas.TopicDLQ)
	return p
}

func (p *pair) ctx() context.Context {
	ctx, cancel := context.WithTimeout(p.Context(), time.Minute)
	p.Cleanup(cancel)
	return ctx
}

// until waits for the brokers to come to something.
func (p *pair) until(what string, is func(context.Context) bool) {
	p.Helper()
	ctx := p.ctx()
	for !is(ctx) {
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			p.Fatalf("waited in vain until %s", what)
		}
	}
}

// up starts the second broker and waits until it leads what it has.
func (p *pair) up() {
	p.Helper()
	p.down = serverstest.Start(p.T, p.second)
	p.until("the second broker is there", func(ctx context.Context) bool {
		brokers, err := p.admin.ListBrokers(ctx)
		return err == nil && len(brokers) == 2 && p.led(ctx)
	})
}

// led reports whether all partitions have a leader.
func (p *pair) led(ctx context.Context) bool {
	topics, err := kmsg.NewPtrMetadataRequest().RequestWith(ctx, p.client)
	if err != nil {
		return false
	}
	for _, topic := range topics.Topics {
		for _, partition := range topic.Partitions {
			if partition.Leader < 0 {
				return false
			}
		}
	}
	return true
}

// create makes topics of two partitions on one broker.
func (p *pair) create(broker int32, topics ...string) {
	p.Helper()
	request := kmsg.NewPtrCreateTopicsRequest()
	request.TimeoutMillis = 10_000
	for _, topic := range topics {
		t := kmsg.NewCreateTopicsRequestTopic()
		t.Topic, t.NumPartitions, t.ReplicationFactor = topic, -1, -1
		for n := range int32(2) {
			t.ReplicaAssignment = append(t.ReplicaAssignment, kmsg.CreateTopicsRequestTopicReplicaAssignment{Partition: n, Replicas: []int32{broker}})
		}
		request.Topics = append(request.Topics, t)
	}
	response, err := request.RequestWith(p.ctx(), p.client)
	if err != nil {
		p.Fatal(err)
	}
	for _, t := range response.Topics {
		if t.ErrorCode != 0 {
			p.Fatalf("create %s: %d", t.Topic, t.ErrorCode)
		}
	}
	p.until("the topics are there", p.led)
}

func (p *pair) node(ended func(Ended)) *Kafka {
	p.Helper()
	k, err := New(Options{Client: []kgo.Opt{kgo.SeedBrokers(p.seed), kgo.FetchMaxWait(100 * time.Millisecond)}, Namespace: "ns", Schemas: SchemaIDs{1, 2, 3}, OnEnded: ended})
	if err != nil {
		p.Fatal(err)
	}
	p.Cleanup(k.Close)
	return k
}

// A transaction is committed while a partition of it has no leader, and its holder dies. Kafka 4.4 forgets the
// marker of that partition (KAFKA-20734) and tells the next holder that all has ended. The alert was public at
// once; that it was sent must be found all the same, or it goes out twice. The same with an abort.
func TestKafkaForgetsAMarker(t *testing.T) {
	p := newPair(t)
	for n, commit := range []kgo.TransactionEndTry{kgo.TryCommit, kgo.TryAbort} {
		former, err := p.node(nil).OpenAlerts(p.ctx(), 1)
		if err != nil {
			t.Fatal(err)
		}
		start, err := p.node(nil).offset(p.ctx(), schemas.TopicAlertIDs, 1, endOfLog)
		if err != nil {
			t.Fatal(err)
		}
		value, facts, err := sentRecord([]schemas.Alert{{AlertID: "a", RuleID: "r", TripID: "t"}})
		if err != nil {
			t.Fatal(err)
		}
		if err := former.client.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		if err := former.client.ProduceSync(p.ctx(), &kgo.Record{Topic: schemas.TopicAlerts, Key: []byte("r"), Value: []byte("alert")},
			&kgo.Record{Topic: schemas.TopicAlertIDs, Partition: 1, Key: []byte("ns"), Value: value, Headers: []kgo.RecordHeader{facts}}).FirstErr(); err != nil {
			t.Fatal(err)
		}
		p.down()
		p.until("the log has no leader", func(ctx context.Context) bool { return !p.led(ctx) })
		if err := former.client.EndTransaction(p.ctx(), commit); err != nil {
			t.Fatal(err)
		}
		former.Close()
		p.up()

		var ended []Ended
		a, err := p.node(func(e Ended) { ended = append(ended, e) }).OpenAlerts(p.ctx(), 1)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("ended: %v", ended)
		began := time.Now()
		sent, next, err := a.AlertsSince(p.ctx(), start)
		if err != nil {
			t.Fatalf("after %s: %v", time.Since(began), err)
		}
		if want := 1 - n; len(sent) != want {
			t.Errorf("commit %v: %d alerts are known to be sent, want %d", commit, len(sent), want)
		}
		if after, err := a.SendAlerts(p.ctx(), []schemas.Alert{{AlertID: "b", RuleID: "r", TripID: "t"}}); err != nil || after <= next {
			t.Errorf("then sent to %d: %v", after, err)
		}
		a.Close()
	}
}

// What is written to other partitions goes out at once while one has no leader.
func TestAPartitionWithoutALeaderHoldsBackWhatIsWrittenToItAlone(t *testing.T) {
	p := newPair(t)
	p.down()
	p.until("the dead letters have no leader", func(ctx context.Context) bool { return !p.led(ctx) })
	node := p.node(nil)
	began := time.Now()
	out, err := node.OpenPublisher(p.ctx(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	opened := time.Since(began)
	for made := checkpoint.Number(1); made <= 3; made++ {
		if err := out.Publish(p.ctx(), made, outbox(made)); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("opened in %s, published in %s", opened, time.Since(began)-opened)
	letters := schemas.Outbox{DeadLetters: []schemas.DeadLetter{{Value: []byte("x")}}}
	if err := out.Publish(p.ctx(), 4, letters); err == nil || !strings.Contains(err.Error(), schemas.TopicDLQ+"/1: no answer") {
		t.Errorf("a dead letter went out, or it is not said what it waits for: %v", err)
	}
	p.up()
	p.until("the dead letters go out", func(ctx context.Context) bool {
		out, err := node.OpenPublisher(ctx, 1)
		if err != nil {
			return false
		}
		defer out.Close()
		return out.Publish(ctx, 4, letters) == nil
	})
}
