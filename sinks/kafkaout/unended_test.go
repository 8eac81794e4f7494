package kafkaout

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"taximeter/checkpoint"
	"taximeter/schemas"
)

// What a committed transaction holds in a partition that never got its marker is public after the next opening,
// and what an aborted one holds is not.
func TestWhatKafkaLeftOpenEndsAsItWasDecided(t *testing.T) {
	for _, committed := range []bool{true, false} {
		t.Run(fmt.Sprint("committed ", committed), func(t *testing.T) {
			w := newWorld(t)
			producer, epoch := leftOpen(t, w)
			end, want := kmsg.TransactionStatePrepareAbort, []string(nil)
			if committed {
				end, want = kmsg.TransactionStatePrepareCommit, []string{"before"}
			}
			w.logStates(state(kmsg.TransactionStateEmpty, producer, epoch), state(kmsg.TransactionStateOngoing, producer, epoch, 3),
				state(end, producer, epoch+1, 3), state(kmsg.TransactionStateEmpty, producer, epoch+2))
			var ended []Ended
			w.kafka.o.OnEnded = func(e Ended) { ended = append(ended, e) }

			a, err := w.kafka.OpenAlerts(w.ctx(), ours3)
			if err != nil {
				t.Fatal(err)
			}
			defer a.Close()
			sent, _, err := a.AlertsSince(w.ctx(), 0)
			if err != nil {
				t.Fatal(err)
			}
			var ids []string
			for _, s := range sent {
				ids = append(ids, s.AlertID)
			}
			if !slices.Equal(ids, want) {
				t.Errorf("sent before: %q, want %q", ids, want)
			}
			if n := w.kafka.TransactionsEnded(); n != 1 {
				t.Errorf("%d counted", n)
			}
			if told := (Ended{alertsOf3, schemas.TopicAlertIDs, 3, producer, epoch, 0, committed}); !slices.Equal(ended, []Ended{told}) {
				t.Errorf("told %v, want %v", ended, told)
			}
		})
	}
}

// Where the decision or the right to write it is missing, nothing is sent, and the error says what to do.
func TestNothingIsSentOnTopOfAnOpenTransaction(t *testing.T) {
	w := newWorld(t)
	producer, epoch := leftOpen(t, w)
	refused := func(want ...string) {
		t.Helper()
		a, err := w.node("ns").OpenAlerts(w.ctx(), ours3)
		if err == nil {
			a.Close()
			t.Fatal("opened on top of a transaction that is open")
		}
		for _, word := range append(want, fmt.Sprintf("producer %d, epoch %d", producer, epoch), "_taximeter.alert-markers/3 since offset 0", "operations.md") {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("no %q in: %v", word, err)
			}
		}
	}
	refused("find the partitions of __transaction_state")
	w.logStates(state(kmsg.TransactionStateOngoing, producer, epoch, 2), state(kmsg.TransactionStatePrepareAbort, producer, epoch+1, 2))
	refused(errUndecided.Error())
	w.logStates(state(kmsg.TransactionStateOngoing, producer, epoch, 3), state(kmsg.TransactionStatePrepareAbort, producer, epoch+1, 3))
	w.cluster.ControlKey(int16(kmsg.WriteTxnMarkers), func(r kmsg.Request) (kmsg.Response, error, bool) {
		request := r.(*kmsg.WriteTxnMarkersRequest)
		response := request.ResponseKind().(*kmsg.WriteTxnMarkersResponse)
		m := request.Markers[0]
		response.Markers = []kmsg.WriteTxnMarkersResponseMarker{{ProducerID: m.ProducerID, Topics: []kmsg.WriteTxnMarkersResponseMarkerTopic{{Topic: m.Topics[0].Topic,
			Partitions: []kmsg.WriteTxnMarkersResponseMarkerTopicPartition{{Partition: 3, ErrorCode: kerr.ClusterAuthorizationFailed.Code}}}}}}
		return response, nil, true
	})
	refused("CLUSTER_AUTHORIZATION_FAILED")
	a, err := w.node("ns").OpenAlerts(w.ctx(), ours3) // the right is there now
	if err != nil {
		t.Fatal(err)
	}
	a.Close()
}

// A broker that takes a marker and does not answer is given up, whatever the caller's deadline is.
func TestEndingWhatIsOpenHasADeadline(t *testing.T) {
	w := newWorld(t)
	producer, epoch := leftOpen(t, w)
	w.logStates(state(kmsg.TransactionStateOngoing, producer, epoch, 3), state(kmsg.TransactionStatePrepareAbort, producer, epoch+1, 3))
	end := make(chan struct{})
	defer close(end)
	w.cluster.ControlKey(int16(kmsg.WriteTxnMarkers), func(kmsg.Request) (kmsg.Response, error, bool) {
		w.cluster.SleepControl(func() { <-end })
		return nil, nil, false
	})
	w.kafka.ending = 500 * time.Millisecond
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second) // a client gives a request up after ten
	defer cancel()
	a, err := w.kafka.OpenAlerts(ctx, ours3)
	if err == nil {
		a.Close()
	}
	if err == nil || ctx.Err() != nil {
		t.Errorf("opened, or waited for the caller's deadline: %v", err)
	}
}

// Who may not ask about a topic sends as before, says so once, and asks about the others.
func TestSendingDoesNotNeedTheRightToAsk(t *testing.T) {
	w := newWorld(t)
	w.kafka.patience = 300 * time.Millisecond
	var refused []string
	w.kafka.o.OnRefused = func(topic string, _ error) { refused = append(refused, topic) }
	var open atomic.Int64 // producer with a transaction in the marker partition
	w.answering(func(at place) (*kerr.Error, int64, int32) {
		switch at.topic {
		case schemas.TopicPayments:
			return kerr.TopicAuthorizationFailed, 0, 0
		case schemas.TopicCommits:
			return nil, open.Load(), 0
		}
		return nil, 0, 0
	})
	v := w.open(w.kafka)
	w.publish(v, 1, outbox(1))
	w.publish(v, 2, outbox(2))
	if made := w.marker(v); made != 2 {
		t.Errorf("marker %d", made)
	}
	if !slices.Equal(refused, []string{schemas.TopicPayments}) {
		t.Errorf("told of %q", refused)
	}
	open.Store(v.Publisher.producer)
	if err := v.Publish(w.ctx(), 3, outbox(3)); err == nil || !strings.Contains(err.Error(), schemas.TopicCommits+"/3: still open since offset 0") {
		t.Errorf("published on top of a transaction that is open: %v", err)
	}
}

// Nor does it need an answer that never comes.
func TestSendingDoesNotNeedBrokersThatTell(t *testing.T) {
	old := kversion.Stable()
	old.SetMaxKeyVersion(int16(kmsg.DescribeProducers), -1)
	for name, c := range map[string]struct {
		opts  []kfake.Opt
		fault *kerr.Error
		want  []string // is told
	}{
		"brokers before 2.8":  {opts: []kfake.Opt{kfake.MaxVersions(old)}, want: []string{allTopics}},
		"a refusal for good":  {fault: kerr.InvalidRequest, want: []string{schemas.TopicCommits, schemas.TopicWindows, schemas.TopicDLQ, schemas.TopicPayments}},
		"an unknown question": {fault: kerr.UnsupportedVersion, want: []string{allTopics}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, c.opts...)
			w.kafka.patience = 300 * time.Millisecond
			var refused []string
			w.kafka.o.OnRefused = func(topic string, _ error) { refused = append(refused, topic) }
			if c.fault != nil {
				w.answering(func(place) (*kerr.Error, int64, int32) { return c.fault, 0, 0 })
			}
			p, err := w.kafka.OpenPublisher(w.ctx(), ours3)
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			for made := checkpoint.Number(1); made <= 2; made++ {
				if err := p.Publish(w.ctx(), made, outbox(made)); err != nil {
					t.Fatal(err)
				}
			}
			slices.Sort(refused)
			if !slices.Equal(refused, c.want) {
				t.Errorf("told of %q, want %q", refused, c.want)
			}
		})
	}
}

// A transaction begins when the one before has ended, or not at all.
func TestATransactionAwaitsTheEndOfTheOneBefore(t *testing.T) {
	w := newWorld(t)
	v := w.open(w.kafka)
	send := func(id string) error {
		_, err := v.SendAlerts(w.ctx(), []schemas.Alert{{AlertID: id, RuleID: "r", TripID: "t"}})
		return err
	}
	if err := send("first"); err != nil {
		t.Fatal(err)
	}
	var stillOpen atomic.Int64 // answers
	stillOpen.Store(3)
	w.answering(func(at place) (*kerr.Error, int64, int32) {
		if at.topic != schemas.TopicAlertIDs || stillOpen.Add(-1) < 0 {
			return nil, 0, 0
		}
		return nil, v.Alerts.producer, 0
	})
	if err := send("second"); err != nil || stillOpen.Load() >= 0 {
		t.Fatalf("sent after %d more answers: %v", stillOpen.Load(), err)
	}
	w.kafka.patience = 300 * time.Millisecond
	stillOpen.Store(1 << 40)
	for n := range 2 { // and then the client is worth nothing any more
		err := send("third")
		if err == nil {
			t.Fatal("sent on top of an open transaction")
		}
		if n == 0 && !strings.Contains(err.Error(), "_taximeter.alert-markers/3: still open since offset 0") {
			t.Errorf("it does not say where and why: %v", err)
		}
	}
	sent, _, err := v.AlertsSince(w.ctx(), 0)
	if err != nil || len(sent) != 2 {
		t.Errorf("sent: %v, %v", sent, err)
	}
}

// Where a partition has no leader, opening works; what writes there must have an answer.
func TestAPartitionThatNobodyAnswersForIsAskedAboutAgain(t *testing.T) {
	w := newWorld(t)
	w.kafka.patience = 300 * time.Millisecond
	a := Alerts{n: tasks}
	regions := map[int32]string{} // one of each partition
	for i := 0; len(regions) < tasks; i++ {
		r := &kgo.Record{Topic: schemas.TopicAlerts, Key: fmt.Append(nil, "region ", i)}
		a.place(r)
		regions[r.Partition] = string(r.Key)
	}
	var answers atomic.Bool
	var mu sync.Mutex
	asked := map[place]int{}
	w.answering(func(at place) (*kerr.Error, int64, int32) {
		mu.Lock()
		asked[at]++
		mu.Unlock()
		if !answers.Load() && at == (place{schemas.TopicAlerts, 1}) {
			return kerr.UnknownTopicOrPartition, 0, 0 // not one that the client waits for
		}
		return nil, 0, 0
	})
	v := w.open(w.kafka)
	for p := range int32(tasks) {
		if asked[place{schemas.TopicAlerts, p}] == 0 {
			t.Errorf("partition %d of the alerts was not asked about", p)
		}
	}
	for range 2 {
		if _, err := v.SendAlerts(w.ctx(), []schemas.Alert{alertOf(regions[0]), alertOf(regions[2])}); err != nil {
			t.Errorf("not sent to partitions that answer: %v", err)
		}
	}
	_, err := v.SendAlerts(w.ctx(), []schemas.Alert{alertOf(regions[0]), alertOf(regions[1])})
	if err == nil || !strings.Contains(err.Error(), "corridas.alertas/1: no answer: UNKNOWN_TOPIC_OR_PARTITION") || strings.Contains(err.Error(), "corridas.alertas/0") {
		t.Errorf("sent though nobody knows what is open, or it does not say where: %v", err)
	}
	v = w.open(w.kafka)
	answers.Store(true)
	if _, err := v.SendAlerts(w.ctx(), []schemas.Alert{alertOf(regions[1])}); err != nil {
		t.Error(err)
	}
}

// Readers of a partition that nobody answered for must not wait until somebody writes to it.
func TestWhatIsOpenInAPartitionThatNobodyWritesToIsFoundLater(t *testing.T) {
	w := newWorld(t)
	var answers atomic.Bool
	w.answering(func(at place) (*kerr.Error, int64, int32) {
		if !answers.Load() && at.topic == schemas.TopicAlerts {
			return kerr.UnknownTopicOrPartition, 0, 0
		}
		return nil, 0, 0
	})
	v := w.open(w.kafka)
	answers.Store(true)
	for _, since := range []time.Duration{0, againEvery} {
		v.Alerts.asked = time.Now().Add(-since)
		if _, err := v.SendAlerts(w.ctx(), []schemas.Alert{alertOf("r")}); err != nil {
			t.Fatal(err)
		}
		if silent, want := len(v.Alerts.unended.silent()), map[time.Duration]int{0: tasks - 1, againEvery: 0}[since]; silent != want {
			t.Errorf("asked %s ago: %d are silent, want %d", since, silent, want)
		}
	}
}

// Who falls quiet asks until all has ended; where it does not, the client is worth nothing any more.
func TestAQuietSenderFindsWhatHasNotEnded(t *testing.T) {
	w := newWorld(t)
	var asked, open atomic.Int64 // open: the producer that has a transaction open
	w.answering(func(at place) (*kerr.Error, int64, int32) {
		asked.Add(1)
		if at.topic != schemas.TopicCommits {
			return nil, 0, 0
		}
		return nil, open.Load(), 99
	})
	v := w.open(w.kafka)
	w.publish(v, 1, outbox(1))
	settle := func() (places int64, err error) {
		before := asked.Load()
		err = v.Publisher.Settle(w.ctx())
		return asked.Load() - before, err
	}
	for _, want := range []int64{3, 0} { // bills, windows and the marker; and then nothing is left
		if places, err := settle(); err != nil || places != want {
			t.Errorf("asked about %d places, want %d: %v", places, want, err)
		}
	}
	w.publish(v, 2, outbox(2))
	open.Store(v.Publisher.producer)
	for _, want := range []int64{3, 1} {
		if places, err := settle(); err != nil || places != want {
			t.Errorf("asked about %d places, want %d: %v", places, want, err)
		}
	}
	w.kafka.patience = 0
	if _, err := settle(); err == nil || !strings.Contains(err.Error(), "_taximeter.commits/3: still open since offset 0") {
		t.Errorf("it does not say where and why: %v", err)
	}
	if err := v.Publish(w.ctx(), 3, outbox(3)); !errors.Is(err, errDiscarded) {
		t.Errorf("published on top of an open transaction: %v", err)
	}
}

// At its last epoch a producer gets another id with a commit, silently. That transaction is the former id's, those
// after it are the new one's.
func TestATransactionAwaitsTheEndOfTheOneBeforeWhoseverItIs(t *testing.T) {
	for name, c := range map[string]struct {
		since int
		epoch int32
	}{"the former id's": {0, math.MaxInt16 - 1}, "the new id's": {1, 0}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.exhaust(alertsOf3)
			a, err := w.kafka.OpenAlerts(w.ctx(), ours3)
			if err != nil {
				t.Fatal(err)
			}
			defer a.Close()
			send := func() error {
				_, err := a.SendAlerts(w.ctx(), []schemas.Alert{{AlertID: "a", RuleID: "r", TripID: "t"}})
				return err
			}
			var last int64 // whose the last transaction is
			for left := -1; left != 0; left-- {
				before, _, err := a.client.ProducerID(w.ctx())
				if err != nil {
					t.Fatal(err)
				}
				if err := send(); err != nil {
					t.Fatal(err)
				}
				last = before
				if now, _, _ := a.client.ProducerID(w.ctx()); now != before {
					left = 1 + c.since
				}
				if left < -5 {
					t.Fatal("no commit has brought another id")
				}
			}
			w.kafka.patience = 300 * time.Millisecond
			w.answering(func(place) (*kerr.Error, int64, int32) { return nil, last, c.epoch })
			if err := send(); err == nil || !strings.Contains(err.Error(), "/3: still open since offset 0") {
				t.Errorf("sent though the transaction before is open, or ended it in its coordinator's place: %v", err)
			}
		})
	}
}

// exhaust brings a transactional id's producer near its last epoch.
func (w *world) exhaust(id string) {
	w.Helper()
	request := kmsg.NewPtrInitProducerIDRequest()
	request.TransactionalID, request.TransactionTimeoutMillis = &id, 10_000
	for epoch := int16(0); epoch < math.MaxInt16-2; {
		response, err := request.RequestWith(w.ctx(), w.kafka.client)
		if err != nil || response.ErrorCode != 0 {
			w.Fatal(err, response)
		}
		epoch = response.ProducerEpoch
	}
}
