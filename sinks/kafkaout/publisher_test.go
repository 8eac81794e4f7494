package kafkaout

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/checkpoint"
	"taximeter/schemas"
	"taximeter/sinks"
)

func TestAnOutboxGoesOutOnceWithItsMarker(t *testing.T) {
	w := newWorld(t)
	v := w.open(w.kafka)
	if made := w.marker(v); made != 0 {
		t.Errorf("marker %d before anything", made)
	}
	o := outbox(5)
	o.DeadLetters = []schemas.DeadLetter{{Topic: schemas.Rides, Partition: 3, Offset: 77, Reason: schemas.DLQClockAhead, Detail: "d", AppendedAt: 99, Key: []byte("k"), Value: []byte("v")},
		{Topic: schemas.Rides, Partition: 3, Offset: 78, Reason: schemas.DLQUnreadable, AppendedAt: schemas.NoTime}}
	w.publish(v, 5, o)
	if made := w.marker(v); made != 5 {
		t.Errorf("marker %d", made)
	}
	bills := w.committed(schemas.TopicPayments)
	if len(bills) != len(o.Bills) {
		t.Fatalf("%d bills", len(bills))
	}
	if r := bills[0]; r.Partition != 3 || string(r.Key) != "trip-5-0" || headers(r) != "taximeter-namespace=ns taximeter-checkpoint=5" {
		t.Errorf("bill %d %s %s", r.Partition, r.Key, headers(r))
	}
	if ws := w.committed(schemas.TopicWindows); len(ws) != 1 || ws[0].Partition != 3 || string(ws[0].Key) != "trip-5" {
		t.Errorf("windows %v", ws)
	}
	dead := w.committed(schemas.TopicDLQ)
	if len(dead) != 2 {
		t.Fatalf("%d dead letters", len(dead))
	}
	want := "taximeter-namespace=ns taximeter-checkpoint=5 taximeter-reason=dlq:relogio_adiantado taximeter-detail=d taximeter-source=corridas.eventos/3/77 taximeter-appended-at=99"
	if got := headers(dead[0]); got != want || string(dead[0].Key) != "k" || string(dead[0].Value) != "v" {
		t.Errorf("dead letter %s", got)
	}
	if got := headers(dead[1]); strings.Contains(got, "appended-at") || dead[1].Key != nil || dead[1].Value != nil {
		t.Errorf("dead letter %s", got)
	}

	// Another process, later: the marker tells what is public.
	if made := w.marker(w.open(w.node("ns"))); made != 5 {
		t.Errorf("marker %d after opening anew", made)
	}
}

func headers(r *kgo.Record) string {
	var all []string
	for _, h := range r.Headers {
		all = append(all, h.Key+"="+string(h.Value))
	}
	return strings.Join(all, " ")
}

func TestRecordsAreTheSameBytesOnEveryRetry(t *testing.T) {
	o, out := Options{Namespace: "ns", Schemas: SchemaIDs{1, 2, 3}}, outbox(5)
	first, err := o.records(3, 5, &out)
	if err != nil {
		t.Fatal(err)
	}
	again, err := o.records(3, 5, &out)
	if err != nil {
		t.Fatal(err)
	}
	for i := range first {
		if fmt.Sprint(*first[i]) != fmt.Sprint(*again[i]) {
			t.Errorf("record %d differs", i)
		}
	}
}

func TestNamespacesDoNotSeeEachOther(t *testing.T) {
	w := newWorld(t)
	w.publish(w.open(w.kafka), 7, outbox(7))
	other := w.open(w.node("ns2"))
	if made := w.marker(other); made != 0 {
		t.Errorf("marker %d of another namespace", made)
	}
	w.publish(other, 2, outbox(2))

	// An open transaction of another namespace lies before our newest marker.
	if err := other.Publisher.client.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	if err := other.Publisher.client.ProduceSync(w.ctx(), &kgo.Record{Topic: schemas.TopicCommits, Partition: 3, Key: []byte("ns2"), Value: []byte(`{"made":3}`)}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	v := w.open(w.kafka)
	w.publish(v, 8, outbox(8))
	read := make(chan checkpoint.Number, 1)
	go func() {
		made, err := v.Marker(w.ctx())
		if err != nil {
			t.Error(err)
		}
		read <- made
	}()
	if err := other.Publisher.client.EndTransaction(w.ctx(), kgo.TryAbort); err != nil {
		t.Fatal(err)
	}
	if made := <-read; made != 8 {
		t.Errorf("marker %d", made)
	}
}

// A transaction that nobody ends stops every committed reader of its partition. Who waits says whose it is.
func TestWhoWaitsForATransactionSaysWhose(t *testing.T) {
	w := newWorld(t)
	other := w.open(w.node("ns2"))
	if err := other.Publisher.client.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	if err := other.Publisher.client.ProduceSync(w.ctx(), &kgo.Record{Topic: schemas.TopicCommits, Partition: int32(ours3), Key: []byte("ns2"), Value: []byte(`{"made":3}`)}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	producer, epoch, err := other.Publisher.client.ProducerID(w.ctx())
	if err != nil {
		t.Fatal(err)
	}
	v := w.open(w.kafka)
	ctx, cancel := context.WithTimeout(w.ctx(), time.Second)
	defer cancel()
	_, err = v.Marker(ctx)
	if want := fmt.Sprintf("producer %d (epoch %d", producer, epoch); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q in it", err, want)
	}
}

func TestAZombieIsFencedAndLeavesNothing(t *testing.T) {
	w := newWorld(t)
	zombie := w.open(w.kafka)
	w.publish(zombie, 1, outbox(1))
	// Begun and not ended when the new owner comes.
	if err := zombie.Publisher.client.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	half := bill("half", 1)
	records, err := w.kafka.o.records(ours3, 2, &schemas.Outbox{Bills: []schemas.Bill{half}})
	if err != nil {
		t.Fatal(err)
	}
	if err := zombie.Publisher.client.ProduceSync(w.ctx(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}

	owner := w.open(w.node("ns"))
	if made := w.marker(owner); made != 1 {
		t.Errorf("marker %d", made)
	}
	if err := zombie.Publisher.client.EndTransaction(w.ctx(), kgo.TryCommit); !errors.Is(told(err), sinks.ErrFenced) {
		t.Errorf("the zombie's commit: %v", err)
	}
	w.publish(owner, 2, outbox(2))
	if _, err := owner.SendAlerts(w.ctx(), []schemas.Alert{{AlertID: "a"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := zombie.SendAlerts(w.ctx(), []schemas.Alert{{AlertID: "a"}}); !errors.Is(err, sinks.ErrFenced) {
		t.Errorf("the zombie's alert: %v", err)
	}
	if _, err := zombie.SendAlerts(w.ctx(), []schemas.Alert{{AlertID: "a"}}); !errors.Is(err, errDiscarded) {
		t.Errorf("a failed client is used again: %v", err)
	}
	for _, r := range w.committed(schemas.TopicPayments) {
		if string(r.Key) == "half" {
			t.Error("an aborted bill is public")
		}
	}
	if n := len(w.committed(schemas.TopicAlerts)); n != 1 {
		t.Errorf("%d alerts", n)
	}
}

func TestADeadLetterThatFillsNoRecordIsCut(t *testing.T) {
	w := newWorld(t)
	v := w.open(w.kafka)
	big := bytes.Repeat([]byte("x"), 3_000_000)
	d := schemas.DeadLetter{Topic: schemas.Telemetry, Partition: 3, Offset: 1, Reason: schemas.DLQPanic, Detail: string(big), Key: big, Value: big}
	w.publish(v, 1, schemas.Outbox{DeadLetters: []schemas.DeadLetter{d, d}})
	for _, r := range w.committed(schemas.TopicDLQ) {
		if len(r.Value) != maxValue || len(r.Key) != maxKey || !strings.Contains(headers(r), "taximeter-truncated=key=3000000 value=3000000") {
			t.Errorf("key %d, value %d", len(r.Key), len(r.Value))
		}
	}
	if n := len(w.committed(schemas.TopicDLQ)); n != 2 {
		t.Errorf("%d dead letters", n)
	}
}

func TestWhatTheContractCannotHoldIsToldWithItsTrip(t *testing.T) {
	w := newWorld(t)
	v := w.open(w.kafka)
	b := bill("trip-x", 1)
	b.Amount = schemas.MaxCents + 1
	if err := v.Publish(w.ctx(), 1, schemas.Outbox{Bills: []schemas.Bill{b}}); err == nil || !strings.Contains(err.Error(), "trip-x") {
		t.Errorf("published: %v", err)
	}
	w.publish(v, 1, outbox(1)) // nothing was sent, the client is still good
}

// Processes die at any request, before or after the broker has done it; zombies go on
// beside their successors. Each outbox becomes public exactly once, whole and in order.
func TestCrashesNeitherLoseNorRepeatAnOutbox(t *testing.T) {
	w := newWorld(t)
	random := rand.New(rand.NewPCG(7, 7))
	const crashes = 200
	last := checkpoint.Number(0) // of the committed outboxes
	var zombie *Voice
	died := map[string]int{}
	for life := 0; life <= crashes; life++ {
		last += checkpoint.Number(random.IntN(3)) // the chain goes on meanwhile
		ctx, cancel := context.WithCancel(w.ctx())
		c := &crasher{left: 1 + random.IntN(8), after: random.IntN(2) == 0, died: cancel}
		if life == crashes {
			c.left = -1
		}
		where := w.live(ctx, w.node("ns", kgo.Dialer(c.dial)), last, zombie)
		died[where]++
		if zombie != nil {
			zombie.Close()
			zombie = nil
		}
		if life%5 == 3 { // a pause, not a death: it will wake beside its successor
			zombie = w.open(w.kafka)
		}
		cancel()
	}
	t.Logf("%d outboxes; lives ended at %v", last, died)
	if died["open"] == 0 || died["publish"] == 0 || last < crashes/2 {
		t.Errorf("too little happened")
	}
	var want []string
	for n := checkpoint.Number(1); n <= last; n++ {
		for _, b := range outbox(n).Bills {
			want = append(want, string(b.TripID))
		}
	}
	var got []string
	for _, r := range w.committed(schemas.TopicPayments) {
		got = append(got, string(r.Key))
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("public:\n%s\nwant:\n%s", strings.Join(got, " "), strings.Join(want, " "))
	}
	if n := len(w.committed(schemas.TopicWindows)); n != int(last) {
		t.Errorf("%d windows of %d", n, last)
	}
}

// live is one process that publishes what is due, beside a zombie that tries the same,
// and says at which step it ended.
func (w *world) live(ctx context.Context, k *Kafka, last checkpoint.Number, zombie *Voice) string {
	w.Helper()
	v, err := openVoice(ctx, k, ours3)
	if err != nil {
		return "open"
	}
	defer v.Close()
	made, err := v.Marker(ctx)
	if err != nil {
		return "marker"
	}
	if zombie != nil {
		woke, due := make(chan error), made+1
		go func() { woke <- zombie.Publish(w.ctx(), due, outbox(due)) }()
		defer func() {
			if err := <-woke; !errors.Is(err, sinks.ErrFenced) {
				w.Errorf("the zombie was not fenced: %v", err)
			}
		}()
	}
	for ; made < last; made++ {
		if err := v.Publish(ctx, made+1, outbox(made+1)); err != nil {
			return "publish"
		}
	}
	return "end"
}
