package kafkaout

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl/plain"

	"taximeter/checkpoint"
	"taximeter/schemas"
)

// Only a refusal by the partition itself is an answer. An error in passing is silence.
func TestAServerErrorIsNoAnswer(t *testing.T) {
	w := newWorld(t)
	w.kafka.patience = 200 * time.Millisecond
	producer, epoch := leftOpen(t, w)
	w.logStates(state(kmsg.TransactionStateOngoing, producer, epoch, 3), state(kmsg.TransactionStatePrepareCommit, producer, epoch+1, 3))
	var told []string
	w.kafka.o.OnRefused = func(topic string, why error) { told = append(told, topic+" "+why.Error()) }
	w.answering(func(at place) (*kerr.Error, int64, int32) {
		if at.topic == schemas.TopicAlertIDs {
			return kerr.UnknownServerError, 0, 0
		}
		return nil, 0, 0
	})
	a, err := w.kafka.OpenAlerts(w.ctx(), ours3)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if err := w.kafka.awaitEnded(w.ctx(), a.fenced, []place{{schemas.TopicAlertIDs, 3}}); err == nil {
		t.Error("it may write on top of an open transaction")
	}
	if len(told) > 0 {
		t.Errorf("rights are asked for: %q", told)
	}
}

func TestALoginThatFailsIsNoAnswer(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.EnableSASL(), kfake.Superuser("PLAIN", "u", "p"), kfake.SeedTopics(tasks, schemas.TopicTelemetry, schemas.TopicRides,
		schemas.TopicPayments, schemas.TopicWindows, schemas.TopicDLQ, schemas.TopicAlerts))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	w := &world{T: t, cluster: cluster}
	login := kgo.SASL(plain.Auth{User: "u", Pass: "p"}.AsMechanism())
	if err := w.node("ns", login).EnsureTopics(w.ctx(), tasks); err != nil {
		t.Fatal(err)
	}
	k := w.node("ns", login)
	var told []string
	k.o.OnRefused = func(topic string, why error) { told = append(told, topic+": "+why.Error()) }
	if _, err := k.partitions(w.ctx(), schemas.TopicAlerts); err != nil { // that question goes out beside, over a connection of its own
		t.Fatal(err)
	}
	var left, questions atomic.Int64
	cluster.ControlKey(int16(kmsg.InitProducerID), func(kmsg.Request) (kmsg.Response, error, bool) {
		left.Store(1) // the next one is that of the first question
		return nil, nil, false
	})
	cluster.ControlKey(int16(kmsg.DescribeProducers), func(kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		questions.Add(1)
		return nil, nil, false
	})
	cluster.ControlKey(int16(kmsg.SASLAuthenticate), func(r kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		if left.Add(-1) != 0 {
			return nil, nil, false
		}
		response := r.ResponseKind().(*kmsg.SASLAuthenticateResponse)
		response.ErrorCode = kerr.SaslAuthenticationFailed.Code
		return response, nil, true
	})
	a, err := k.OpenAlerts(w.ctx(), ours3)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if _, err := a.SendAlerts(w.ctx(), []schemas.Alert{alertOf("r")}); err != nil {
		t.Fatal(err)
	}
	if questions.Load() == 0 || len(told) > 0 {
		t.Errorf("sent after %d questions; told %q", questions.Load(), told)
	}
}

// The marker of one partition is slow, as with a dead follower: nobody else's questions wait for it.
func TestASlowMarkerKeepsNobodyElse(t *testing.T) {
	w := newWorld(t)
	p, err := w.kafka.OpenPublisher(w.ctx(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	producer, epoch := leftOpen(t, w)
	w.logStates(state(kmsg.TransactionStateOngoing, producer, epoch, 3), state(kmsg.TransactionStatePrepareCommit, producer, epoch+1, 3))
	wake, writing := make(chan struct{}), make(chan struct{})
	w.cluster.ControlKey(int16(kmsg.WriteTxnMarkers), func(kmsg.Request) (kmsg.Response, error, bool) {
		close(writing)
		w.cluster.SleepControl(func() { <-wake })
		return nil, nil, false
	})
	opened := make(chan error)
	go func() {
		a, err := w.kafka.OpenAlerts(w.ctx(), ours3)
		if err == nil {
			a.Close()
		}
		opened <- err
	}()
	<-writing
	for made := checkpoint.Number(1); made <= 2; made++ {
		if err := p.Publish(w.ctx(), made, outbox(made)); err != nil {
			t.Errorf("another partition's outbox %d: %v", made, err)
		}
	}
	close(wake)
	if err := <-opened; err != nil {
		t.Error(err)
	}
}

// A line ends while it reads back, and no broker answers.
func TestReadingBackEndsAtOnceWhenNobodyWaits(t *testing.T) {
	w := newWorld(t)
	former(t, w)
	wake := make(chan struct{})
	defer close(wake)
	w.cluster.ControlKey(int16(kmsg.DescribeProducers), func(kmsg.Request) (kmsg.Response, error, bool) {
		w.cluster.SleepControl(func() { <-wake })
		return nil, nil, false
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	time.AfterFunc(100*time.Millisecond, cancel)
	began := time.Now()
	if _, err := w.kafka.readBack(ctx, schemas.TopicAlertIDs, ours3, 0, func(*kgo.Record) error { return nil }); err == nil {
		t.Error("it reads on")
	}
	if took := time.Since(began); took > heldPatience-time.Second {
		t.Errorf("it took %s", took)
	}
}

// What the id left open under its former producer id lies where nobody answers as the sender opens.
func TestAStrayInASilentPlaceIsEndedWhenItAnswers(t *testing.T) {
	w := newWorld(t)
	w.kafka.patience = 500 * time.Millisecond
	producer, epoch := former(t, w)
	w.gives(producer+1000, 1)
	w.logStates(state(kmsg.TransactionStateOngoing, producer, epoch, 3), state(kmsg.TransactionStatePrepareCommit, producer, epoch+1, 3), state(kmsg.TransactionStateEmpty, producer+1000, 0))
	var answers atomic.Bool
	w.cluster.ControlKey(int16(kmsg.DescribeProducers), func(r kmsg.Request) (kmsg.Response, error, bool) {
		w.cluster.KeepControl()
		if answers.Load() {
			return nil, nil, false
		}
		request := r.(*kmsg.DescribeProducersRequest)
		response := request.ResponseKind().(*kmsg.DescribeProducersResponse)
		for _, topic := range request.Topics {
			rt := kmsg.DescribeProducersResponseTopic{Topic: topic.Topic}
			for _, p := range topic.Partitions {
				rt.Partitions = append(rt.Partitions, kmsg.DescribeProducersResponseTopicPartition{Partition: p, ErrorCode: kerr.UnknownTopicOrPartition.Code})
			}
			response.Topics = append(response.Topics, rt)
		}
		return response, nil, true
	})
	<-time.After(w.kafka.patience + 100*time.Millisecond) // it has been silent
	a, err := w.kafka.OpenAlerts(w.ctx(), ours3)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	answers.Store(true)
	if err := w.kafka.awaitEnded(w.ctx(), a.fenced, []place{{schemas.TopicAlertIDs, 3}}); err != nil || w.kafka.TransactionsEnded() != 1 {
		t.Errorf("%d ended: %v", w.kafka.TransactionsEnded(), err)
	}
}

// wires count the attempts to reach a dead broker.
type wires struct {
	mu    sync.Mutex // guards all below
	conns map[string][]net.Conn
	dead  string
	dials int
}

func (w *wires) dial(ctx context.Context, network, host string) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, network, host)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil {
		w.conns[host] = append(w.conns[host], c)
	}
	if w.dead == host {
		w.dials++
	}
	return c, err
}

func (w *wires) cut(host string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dead = host
	for _, c := range w.conns[host] {
		_ = c.Close() // by the broker, too
	}
}

// A leader dies and a successor is there: it is found at once, and the dead one is not stormed.
func TestASuccessorIsFoundWithoutAStorm(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(2), kfake.SeedTopics(tasks, schemas.TopicTelemetry, schemas.TopicRides,
		schemas.TopicPayments, schemas.TopicWindows, schemas.TopicDLQ, schemas.TopicAlerts))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	w := &world{T: t, cluster: cluster}
	wires := &wires{conns: map[string][]net.Conn{}}
	k := w.node("ns", kgo.Dialer(wires.dial))
	if err := k.EnsureTopics(w.ctx(), tasks); err != nil {
		t.Fatal(err)
	}
	stays := k.admin.FindTxnCoordinators(w.ctx(), alertsOf3)[alertsOf3].NodeID
	brokers, err := k.admin.ListBrokers(w.ctx())
	if err != nil {
		t.Fatal(err)
	}
	var dies kadm.BrokerDetail
	for _, b := range brokers {
		if b.NodeID != stays {
			dies = b
		}
	}
	for p := range int32(tasks) {
		for _, topic := range []string{schemas.TopicAlerts, schemas.TopicAlertIDs} {
			if err := cluster.MoveTopicPartition(topic, p, dies.NodeID); err != nil {
				t.Fatal(err)
			}
		}
	}
	a, err := k.OpenAlerts(w.ctx(), ours3)
	if err != nil {
		t.Fatal(err)
	}
	send := func() error {
		_, err := a.SendAlerts(w.ctx(), []schemas.Alert{alertOf("r")})
		return err
	}
	if err := send(); err != nil {
		t.Fatal(err)
	}
	if err := cluster.RemoveNode(dies.NodeID); err != nil {
		t.Fatal(err)
	}
	wires.cut(fmt.Sprintf("%s:%d", dies.Host, dies.Port))
	for send() != nil {
		a.Close()
		if a, err = k.OpenAlerts(w.ctx(), ours3); err != nil {
			t.Fatal(err)
		}
	}
	a.Close()
	const storm = 300 // 850 when the client believed in the dead one for five seconds
	if wires.dials > storm {
		t.Errorf("the dead broker was called %d times", wires.dials)
	}
}
