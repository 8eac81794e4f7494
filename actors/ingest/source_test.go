package ingest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"taximeter/schemas"
	"taximeter/schemas/registry"
)

// tally counts what an owner saw, as a partition would.
type tally struct {
	next, control [schemas.NumInputs]schemas.Offset
	ids           [schemas.NumInputs][]string
}

func (y *tally) add(t *testing.T, b *Batch) {
	t.Helper()
	var records [schemas.NumInputs]schemas.Offset
	at := y.next
	for _, r := range b.all() {
		if r.Offset < at[r.Topic] || r.Offset >= b.Next[r.Topic] {
			t.Fatalf("%s: offset %d outside [%d, %d)", r.Topic, r.Offset, at[r.Topic], b.Next[r.Topic])
		}
		at[r.Topic] = r.Offset + 1
		records[r.Topic]++
		y.ids[r.Topic] = append(y.ids[r.Topic], string(r.EventID))
	}
	for i, next := range b.Next {
		if next < y.next[i] {
			t.Fatalf("%s: back from %d to %d", schemas.Topic(i), y.next[i], next)
		}
		y.control[i] += next - y.next[i] - records[i]
	}
	y.next = b.Next
}

// Records, control records and aborted records fill the log to its last offset, wherever
// batches are cut and however often the partition changes hands.
func TestEveryOffsetIsCountedOnce(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.BatchRecords = 7 })
	tx := w.newClient(kgo.TransactionalID("tx"))
	var want [schemas.NumInputs][]string
	n := 0
	for i := range 120 {
		topic := schemas.Inputs[i%schemas.NumInputs]
		var rs []*kgo.Record
		for range 1 + i%11 {
			n++
			rs = append(rs, record(topic, 2, name(n)))
		}
		switch i % 5 {
		case 0, 3:
			w.transaction(tx, kgo.TryAbort, rs...)
			continue
		case 1:
			w.transaction(tx, kgo.TryCommit, rs...)
		default:
			w.produce(w.client, rs...)
		}
		for _, r := range rs {
			want[topic] = append(want[topic], string(r.Value[5:]))
		}
	}
	ends, err := w.source.EndOffsets(w.ctx())
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	var seen tally
	inbox := w.add(2, seen.next)
	for seen.next != ends[2] {
		b := w.next(inbox)
		seen.add(t, b)
		b.Release()
		for range random.IntN(8) - 4 { // while a poll may be under way
			if err := w.source.Remove(2); err != nil {
				t.Fatal(err)
			}
			inbox = w.add(2, seen.next) // what lay in the old inbox is read again
		}
	}
	for i, got := range seen.ids {
		if got, want := strings.Join(got, " "), strings.Join(want[i], " "); got != want {
			t.Errorf("%s: read %s\nwant %s", schemas.Topic(i), got, want)
		}
		if n := schemas.Offset(len(got)); seen.control[i] == 0 || seen.control[i]+n != ends[2][i] {
			t.Errorf("%s: %d records and %d control, end %d", schemas.Topic(i), n, seen.control[i], ends[2][i])
		}
	}
}

// A poll that ended before a partition was removed must not feed the one added after.
func TestNothingOfAnOlderAssignmentIsDelivered(t *testing.T) {
	w := newWorld(t, nil)
	for i := range 10 {
		w.produce(w.client, record(schemas.Rides, 0, name(i)))
	}
	for i := range 20 {
		from, inbox := schemas.Offset(1+i%9), make(chan *Batch, credit)
		if err := w.source.call(func() {
			if err := w.source.add(0, [schemas.NumInputs]schemas.Offset{}, func(*Batch) {}); err != nil {
				t.Error(err)
			}
			w.source.poll(w.source.quick)
			for end := time.Now().Add(deadline); len(w.source.quick.polled) == 0 && time.Now().Before(end); {
				runtime.Gosched()
			}
			w.source.remove(0)
			if err := w.source.add(0, [schemas.NumInputs]schemas.Offset{0, from, 0}, func(b *Batch) { inbox <- b }); err != nil {
				t.Error(err)
			}
		}); err != nil {
			t.Fatal(err)
		}
		if b := w.next(inbox); b.all()[0].Offset != from {
			t.Fatalf("added at %d, given %d", from, b.all()[0].Offset)
		}
		if err := w.source.Remove(0); err != nil {
			t.Fatal(err)
		}
	}
}

func TestASlowPartitionHoldsBackOnlyItself(t *testing.T) {
	w := newWorld(t, func(o *Options) {
		o.BatchRecords, o.ReadAhead = 10, 6*40
		o.Client = append(o.Client, kgo.FetchMaxPartitionBytes(8<<10)) // of about 60 a record: the lane's excess
	})
	const n = 3000
	slow := w.add(0, [schemas.NumInputs]schemas.Offset{})
	quick := w.add(1, [schemas.NumInputs]schemas.Offset{})
	var rs []*kgo.Record
	for i := range n {
		rs = append(rs, record(schemas.Telemetry, 0, name(i)), record(schemas.Telemetry, 1, name(i)))
	}
	for len(rs) > 0 { // many fetches, not one
		w.produce(w.client, rs[:100]...)
		rs = rs[100:]
	}
	read := func(inbox chan *Batch) {
		t.Helper()
		for i := 0; i < n; {
			b := w.next(inbox)
			for _, r := range b.all() {
				if r.EventID != schemas.EventID(name(i)) {
					t.Fatalf("record %d is %s", i, r.EventID)
				}
				i++
			}
			b.Release()
		}
	}
	read(quick)
	if len(slow) != credit {
		t.Errorf("%d batches are out and none was released", len(slow))
	}
	var queued int
	w.on(func() { queued = w.source.tasks[0].lanes[schemas.Telemetry].queued })
	if queued == 0 || queued > 1000 {
		t.Errorf("%d records wait for the slow owner", queued)
	}
	read(slow)
}

func TestOutOfRangeStopsAndTellsTheGap(t *testing.T) {
	w := newWorld(t, nil)
	for i := range 30 {
		w.produce(w.client, record(schemas.Rides, 0, name(i)), record(schemas.Payments, 0, name(i)))
	}
	if _, err := w.admin().DeleteRecords(w.ctx(), kadm.Offsets{schemas.TopicRides: {0: {Topic: schemas.TopicRides, Partition: 0, At: 20}}}); err != nil {
		t.Fatal(err)
	}
	inbox := w.add(0, [schemas.NumInputs]schemas.Offset{0, 10, 25})
	check := func(want OutOfRangeError) {
		t.Helper()
		got, ok := errors.AsType[*OutOfRangeError](w.fault())
		if !ok || *got != want {
			t.Fatalf("fault %+v, want %+v", got, want)
		}
		w.until(0, func(s [schemas.NumInputs]LaneStatus) bool { return errors.Is(s[want.Topic].Stopped, got) })
	}
	check(OutOfRangeError{schemas.Rides, 0, 10, 20, 30})
	b := w.next(inbox) // the other topics go on
	if b.Next != [schemas.NumInputs]schemas.Offset{0, 10, 30} || len(b.all()) != 5 {
		t.Errorf("to %d: %s", b.Next, ids(b))
	}
	if err := w.source.Remove(0); err != nil {
		t.Fatal(err)
	}
	inbox = w.add(0, [schemas.NumInputs]schemas.Offset{7, 20, 30}) // the owner decided
	check(OutOfRangeError{schemas.Telemetry, 0, 7, 0, 0})
	if b := w.next(inbox); b.all()[0].Topic != schemas.Rides || b.all()[0].Offset != 20 {
		t.Errorf("%s from %d", b.all()[0].Topic, b.all()[0].Offset)
	}
	if len(w.faults) != 0 {
		t.Errorf("told again: %v", <-w.faults)
	}
}

func TestATransientFaultIsRetriedFromWhereItStood(t *testing.T) {
	w := newWorld(t, nil)
	w.produce(w.client, record(schemas.Rides, 0, "a"))
	denied := w.cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Topic: schemas.TopicRides, Err: kerr.TopicAuthorizationFailed, Count: -1})
	inbox := w.add(0, [schemas.NumInputs]schemas.Offset{})
	for range 2 {
		if fault, ok := errors.AsType[*FetchError](w.fault()); !ok || fault.Stopped || !errors.Is(fault, kerr.TopicAuthorizationFailed) {
			t.Fatalf("fault %v", fault)
		}
	}
	if n := denied.Hits(); n > 10 {
		t.Errorf("asked %d times while refused", n)
	}
	denied.Remove()
	select {
	case b := <-inbox:
		if ids(b) != "a" {
			t.Errorf("read %s", ids(b))
		}
	case <-time.After(deadline):
		t.Fatal("no batch came")
	}
	w.until(0, func(s [schemas.NumInputs]LaneStatus) bool { return s[schemas.Rides].Stopped == nil })
}

func TestAnUnreachableRegistryHoldsBackOneLane(t *testing.T) {
	w := newWorld(t, nil)
	down := errors.New("connection refused")
	w.registry.answer(down)
	inbox := w.add(0, [schemas.NumInputs]schemas.Offset{})
	other := w.add(1, [schemas.NumInputs]schemas.Offset{})
	w.produce(w.client, record(schemas.Rides, 0, "before"), withSchema(schemas.Rides, 0, 7, "waits"), record(schemas.Rides, 0, "behind"))
	if b := w.next(inbox); ids(b) != "before" || b.Next[schemas.Rides] != 1 {
		t.Fatalf("read %s to %d", ids(b), b.Next)
	} else {
		b.Release()
	}
	w.until(0, func(s [schemas.NumInputs]LaneStatus) bool {
		return errors.Is(s[schemas.Rides].Waiting, down) && s[schemas.Rides].Next == 1
	})
	w.produce(w.client, record(schemas.Telemetry, 0, "same partition"), record(schemas.Rides, 1, "other partition"))
	if b := w.next(inbox); ids(b) != "same partition" {
		t.Errorf("read %s", ids(b))
	} else {
		b.Release()
	}
	if b := w.next(other); ids(b) != "other partition" {
		t.Errorf("read %s", ids(b))
	}
	w.registry.answer(nil)
	b := w.next(inbox)
	if ids(b) != "waits behind" || b.Next != [schemas.NumInputs]schemas.Offset{1, 3, 0} {
		t.Errorf("read %s to %d", ids(b), b.Next)
	}
	w.until(0, func(s [schemas.NumInputs]LaneStatus) bool { return s[schemas.Rides].Waiting == nil })
}

func TestFaultyRecordsKeepTheirBytesAndTheirReason(t *testing.T) {
	w := newWorld(t, nil)
	w.registry.answer(fmt.Errorf("subject: %w", registry.ErrNotFound))
	poison := withSchema(schemas.Rides, 0, 9, "x")
	w.produce(w.client, poison, &kgo.Record{Topic: schemas.TopicRides, Key: []byte("k"), Value: []byte("{}")},
		&kgo.Record{Topic: schemas.TopicRides}, record(schemas.Rides, 0, "bad"), withSchema(schemas.Rides, 0, 9, "y"), record(schemas.Rides, 0, "good"))
	b := w.next(w.add(0, [schemas.NumInputs]schemas.Offset{}))
	if got := ids(b); got != "dlq:esquema_desconhecido dlq:ilegivel dlq:ilegivel dlq:ilegivel dlq:esquema_desconhecido good" {
		t.Errorf("read %s", got)
	}
	if r := b.all()[0]; string(r.Key) != "trip" || string(r.Value) != string(poison.Value) || !strings.Contains(r.Detail, "schema 9 of corridas.eventos") {
		t.Errorf("record %+v", r)
	}
	w.registry.mu.Lock()
	defer w.registry.mu.Unlock()
	if w.registry.asked != 1 {
		t.Errorf("asked %d times for one id", w.registry.asked)
	}
}

// A record without a key lies in no trip's partition but by chance: taken there, it would
// meter a second trip of that id.
func TestARecordWithoutAKeyIsNoTrips(t *testing.T) {
	w := newWorld(t, nil)
	keyless := record(schemas.Rides, 0, "keyless")
	keyless.Key = nil
	w.produce(w.client, keyless, record(schemas.Rides, 0, "good"))
	b := w.next(w.add(0, [schemas.NumInputs]schemas.Offset{}))
	if got := ids(b); got != "dlq:chave_diferente good" {
		t.Errorf("read %s", got)
	}
	if b.all()[0].Key != nil {
		t.Errorf("key %q, want none as it came", b.all()[0].Key)
	}
}

// A schema that comes is used; one that was refused as unfit costs no question a second.
func TestAnIDThatWasNotFoundIsAskedForAgainSoon(t *testing.T) {
	w := newWorld(t, nil)
	key := schemaKey{schemas.Rides, 9}
	inbox := w.add(0, [schemas.NumInputs]schemas.Offset{})
	read := func(want string, answer error) (left time.Duration) {
		t.Helper()
		w.registry.answer(answer)
		w.on(func() {
			if r, ok := w.source.refused[key]; ok {
				w.source.refused[key] = &refusal{r.detail, time.Now().Add(-1)} // its time is over
			}
		})
		w.produce(w.client, withSchema(schemas.Rides, 0, 9, "x"))
		b := w.next(inbox)
		if ids(b) != want {
			t.Errorf("read %s, want %s", ids(b), want)
		}
		b.Release()
		w.on(func() { left = time.Until(w.source.refused[key].until) })
		return left
	}
	if left := read("dlq:esquema_desconhecido", fmt.Errorf("subject: %w", registry.ErrNotFound)); left > notFoundFor {
		t.Errorf("not found for %v", left)
	}
	if left := read("dlq:esquema_desconhecido", fmt.Errorf("protobuf: %w", registry.ErrRefused)); left < notFoundFor {
		t.Errorf("refused for %v", left)
	}
	read("x", nil)
}

func TestOnlyOurNamespaceMakesABillOurs(t *testing.T) {
	w := newWorld(t, nil)
	for i, header := range []kgo.RecordHeader{{Key: schemas.HeaderNamespace, Value: []byte("ns")}, {Key: schemas.HeaderNamespace, Value: []byte("ns2")}, {Key: "x", Value: []byte("ns")}} {
		r := record(schemas.Payments, 0, name(i))
		r.Headers = []kgo.RecordHeader{{Key: "other"}, header}
		w.produce(w.client, r)
	}
	b := w.next(w.add(0, [schemas.NumInputs]schemas.Offset{}))
	for len(b.all()) < 3 {
		t.Fatalf("one poll brought %d records", len(b.all()))
	}
	for i, r := range b.all() {
		if r.Own != (i == 0) {
			t.Errorf("record %d: own %v", i, r.Own)
		}
	}
}

func TestAppendTimes(t *testing.T) {
	for _, c := range []struct {
		from AppendTimes
		ms   int64
		want schemas.Millis
	}{
		{AppendTimesFromRecords, 1234, 1234},
		{AppendTimesFromRecords, -1, schemas.NoTime},
		{AppendTimesFromBroker, 1234, schemas.NoTime}, // a producer's clock proves nothing
	} {
		w := newWorld(t, func(o *Options) { o.AppendTimes = c.from })
		r := record(schemas.Rides, 0, "a")
		r.Timestamp = time.UnixMilli(c.ms)
		w.produce(w.client, r)
		if b := w.next(w.add(0, [schemas.NumInputs]schemas.Offset{})); b.all()[0].AppendedAt != c.want {
			t.Errorf("%d is told as %v", c.ms, b.all()[0].AppendedAt)
		}
	}
}

func TestAPausedTopicBringsNothing(t *testing.T) {
	w := newWorld(t, nil)
	inbox := w.add(0, [schemas.NumInputs]schemas.Offset{})
	if err := w.source.PauseTopic(0, schemas.Telemetry); err != nil {
		t.Fatal(err)
	}
	w.produce(w.client, record(schemas.Telemetry, 0, "ahead"))
	w.produce(w.client, record(schemas.Rides, 0, "slower"))
	w.until(0, func(s [schemas.NumInputs]LaneStatus) bool { return s[schemas.Telemetry].End == 1 })
	if b := w.next(inbox); ids(b) != "slower" {
		t.Errorf("read %s", ids(b))
	}
	if err := w.source.ResumeTopic(0, schemas.Telemetry); err != nil {
		t.Fatal(err)
	}
	if b := w.next(inbox); ids(b) != "ahead" {
		t.Errorf("read %s", ids(b))
	}
}

func TestAHeldSourceBringsNothingAndLosesNothing(t *testing.T) {
	w := newWorld(t, nil)
	inbox := w.add(0, [schemas.NumInputs]schemas.Offset{})
	w.source.Hold()
	w.produce(w.client, record(schemas.Rides, 0, "a"))
	w.produce(w.client, record(schemas.Rides, 0, "b"))
	w.until(0, func(s [schemas.NumInputs]LaneStatus) bool { return s[schemas.Rides].End == 2 })
	select {
	case b := <-inbox:
		t.Errorf("read %s", ids(b))
	default:
	}
	w.source.Resume()
	got := ids(w.next(inbox))
	for got == "a" {
		got += " " + ids(w.next(inbox))
	}
	if got != "a b" {
		t.Errorf("read %s", got)
	}
}

func TestAClosedSourceSaysSo(t *testing.T) {
	w := newWorld(t, nil)
	inbox := w.add(0, [schemas.NumInputs]schemas.Offset{})
	if err := w.source.Add(0, [schemas.NumInputs]schemas.Offset{}, func(*Batch) {}); err == nil {
		t.Error("a partition was added twice")
	}
	w.produce(w.client, record(schemas.Rides, 0, "a"))
	b := w.next(inbox)
	w.source.Close()
	b.Release()
	if err := w.source.Remove(0); !errors.Is(err, ErrClosed) {
		t.Errorf("remove: %v", err)
	}
}
