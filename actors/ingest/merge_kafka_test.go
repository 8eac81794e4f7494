package ingest

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"taximeter/schemas"
)

// stuck makes the fetches of a topic come back without its records, as while a partition
// has no leader: no error reaches the client's user.
func (w *world) stuck(topic string) *kfake.FaultHandle {
	return w.cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Topic: topic, Err: kerr.NotLeaderForPartition, Count: -1})
}

// A topic of many records and two of few, read at the speed of the log from small fetches.
func TestCatchingUpKeepsTheOrderAcrossTopics(t *testing.T) {
	for _, c := range []struct {
		name  string
		first int64
	}{{"append times", 1_000_000}, {"event files", -1 << 41}} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, func(o *Options) {
				o.BatchRecords, o.ReadAhead = 100, 3*200
				o.Client = append(o.Client, kgo.FetchMaxPartitionBytes(4<<10), kgo.FetchMaxBytes(8<<10))
			})
			w.registry.gate = make(chan struct{}) // the schema of the rides is asked for while all wait
			const n = 6000
			random := rand.New(rand.NewPCG(3, 4))
			var rs []*kgo.Record
			for i := range n {
				r := record(schemas.Telemetry, 0, name(i))
				switch random.IntN(60) {
				case 0:
					r = withSchema(schemas.Rides, 0, 7, name(i))
				case 1:
					r = record(schemas.Payments, 0, name(i))
				}
				rs = append(rs, at(c.first+int64(i), r))
			}
			for len(rs) > 0 {
				w.produce(w.client, rs[:100]...)
				rs = rs[100:]
			}
			inbox := w.add(0, [schemas.NumInputs]schemas.Offset{})
			w.until(0, func([schemas.NumInputs]LaneStatus) (asked bool) {
				w.on(func() { asked = len(w.source.asking) > 0 })
				return asked
			})
			close(w.registry.gate)
			for i := 0; i < n; {
				b := w.next(inbox)
				for _, r := range b.all() {
					if r.EventID != schemas.EventID(name(i)) {
						t.Fatalf("%s came where %s was due", r.EventID, name(i))
					}
					i++
				}
				b.Release()
			}
		})
	}
}

// At the end of the log, topics that are silent are not waited for, from the start on.
func TestASilentTopicAddsNoLatency(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.ProbeEvery = time.Hour })
	inbox := w.add(0, [schemas.NumInputs]schemas.Offset{})
	for i, topic := range []schemas.Topic{schemas.Telemetry, schemas.Telemetry, schemas.Rides, schemas.Telemetry, schemas.Payments, schemas.Rides} {
		began := time.Now()
		w.produce(w.client, record(topic, 0, name(i)))
		b := w.next(inbox)
		if took := time.Since(began); ids(b) != name(i) || took > time.Second {
			t.Errorf("%s came after %v", ids(b), took)
		}
		b.Release()
	}
}

func TestAStuckLaneHoldsTheOthersForPatienceOnly(t *testing.T) {
	for _, c := range []struct {
		name string
		more kfake.Fault
	}{
		{"its end is known", kfake.Fault{Keys: []kmsg.Key{kmsg.DescribeACLs}}},
		{"nothing tells its end", kfake.Fault{Keys: []kmsg.Key{kmsg.ListOffsets}, Topic: schemas.TopicRides, Err: kerr.UnknownServerError, Count: -1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, func(o *Options) { o.ProbeEvery = time.Hour }) // nothing else wakes the partition
			w.produce(w.client, at(5, record(schemas.Telemetry, 0, "t5")), at(3, record(schemas.Rides, 0, "r3")))
			faults := w.stuck(schemas.TopicRides)
			more := w.cluster.Fault(c.more)
			began := time.Now()
			inbox := w.add(0, [schemas.NumInputs]schemas.Offset{})
			b := w.next(inbox)
			if took := time.Since(began); ids(b) != "t5" || took < patience || took > patience+time.Second {
				t.Fatalf("%s came after %v", ids(b), took)
			}
			b.Release()
			began = time.Now()
			w.produce(w.client, at(6, record(schemas.Telemetry, 0, "t6")))
			b = w.next(inbox)
			if took := time.Since(began); ids(b) != "t6" || took > time.Second {
				t.Errorf("%s came after %v: waited for twice", ids(b), took)
			}
			faults.Remove()
			more.Remove()
			if b := w.next(inbox); ids(b) != "r3" {
				t.Fatalf("read %s", ids(b))
			}
			w.merges(inbox, b)
		})
	}
}

// merges checks that what waits in several lanes comes in order again. The owner still
// has the batch b and maybe one released.
func (w *world) merges(inbox chan *Batch, b *Batch) {
	w.Helper()
	if err := w.source.PauseTopic(0, schemas.Telemetry); err != nil {
		w.Fatal(err)
	}
	b.Release()
	w.produce(w.client, at(20, record(schemas.Telemetry, 0, "t20")), at(22, record(schemas.Telemetry, 0, "t22")))
	if err := w.source.PauseTopic(0, schemas.Rides); err != nil {
		w.Fatal(err)
	}
	w.produce(w.client, at(19, record(schemas.Rides, 0, "r19")), at(21, record(schemas.Rides, 0, "r21")))
	w.until(0, func([schemas.NumInputs]LaneStatus) (here bool) {
		w.on(func() { here = w.source.tasks[0].lanes[0].queued == 2 && w.source.tasks[0].lanes[1].queued == 2 })
		return here
	})
	w.on(func() {
		for _, l := range w.source.tasks[0].lanes {
			l.held = false
		}
		w.source.serveAll()
	})
	if b := w.next(inbox); ids(b) != "r19 t20 r21 t22" {
		w.Errorf("read %s", ids(b))
	}
}

// A topic that is refused for a moment is not run past; one refused for long is.
func TestAFetchThatIsTriedAgainIsWaitedFor(t *testing.T) {
	w := newWorld(t, nil)
	w.source.o.OnFault = func(error) {}
	w.produce(w.client, at(5, record(schemas.Telemetry, 0, "t5")), at(3, record(schemas.Rides, 0, "r3")))
	w.cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Topic: schemas.TopicRides, Err: kerr.TopicAuthorizationFailed, Count: 1})
	if b := w.next(w.add(0, [schemas.NumInputs]schemas.Offset{})); ids(b) != "r3 t5" {
		t.Errorf("read %s", ids(b))
	}
}

func TestALaneThatStandsStillDoesNotHoldTheOthers(t *testing.T) {
	w := newWorld(t, nil)
	for i := range 3 {
		w.produce(w.client, record(schemas.Telemetry, 0, name(i)), record(schemas.Payments, 0, name(i)))
	}
	inbox := w.add(0, [schemas.NumInputs]schemas.Offset{0, 7, 0})
	if _, ok := errors.AsType[*OutOfRangeError](w.fault()); !ok {
		t.Fatal("another fault")
	}
	var seen tally
	for seen.next[schemas.Telemetry]+seen.next[schemas.Payments] < 6 {
		b := w.next(inbox)
		seen.add(t, b)
		b.Release()
	}
	w.produce(w.client, record(schemas.Rides, 0, "r"))
	began := time.Now()
	w.produce(w.client, record(schemas.Telemetry, 0, "t"))
	b := w.next(inbox)
	if took := time.Since(began); ids(b) != "t" || took > time.Second {
		t.Errorf("%s came after %v", ids(b), took)
	}
}

// Aborted records are not seen, only the markers after them.
func TestAbortedRecordsAreNotWaitedFor(t *testing.T) {
	w := newWorld(t, nil)
	tx, open := w.newClient(kgo.TransactionalID("aborts")), w.newClient(kgo.TransactionalID("stays open"))
	telemetry := func(inbox chan *Batch, id string, within time.Duration) {
		t.Helper()
		began := time.Now()
		w.produce(w.client, record(schemas.Telemetry, 0, id))
		for {
			b := w.next(inbox)
			got := ids(b)
			b.Release()
			if got == "" {
				continue // markers
			}
			if took := time.Since(began); got != id || took > within {
				t.Errorf("%s came after %v", got, took)
			}
			return
		}
	}
	w.transaction(tx, kgo.TryAbort, record(schemas.Rides, 0, "a"), record(schemas.Rides, 0, "b"))
	inbox := w.add(0, [schemas.NumInputs]schemas.Offset{})
	w.until(0, func(s [schemas.NumInputs]LaneStatus) bool {
		return s[schemas.Rides].Next == 3 && s[schemas.Rides].End == 3
	})
	telemetry(inbox, "t1", time.Second)

	// [3] aborted, [4] open, [5] marker of 3: what is stable ends at 4, nothing before it is given.
	for _, client := range []*kgo.Client{tx, open} {
		if err := client.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		w.produce(client, record(schemas.Rides, 0, "c"))
	}
	if err := tx.EndTransaction(w.ctx(), kgo.TryAbort); err != nil {
		t.Fatal(err)
	}
	w.until(0, func(s [schemas.NumInputs]LaneStatus) bool {
		return s[schemas.Rides].Next == 3 && s[schemas.Rides].End == 4
	})
	telemetry(inbox, "t2", patience+time.Second)
	telemetry(inbox, "t3", time.Second)
	if err := open.EndTransaction(w.ctx(), kgo.TryCommit); err != nil {
		t.Fatal(err)
	}
	w.until(0, func(s [schemas.NumInputs]LaneStatus) bool {
		return s[schemas.Rides].Next == 7 && s[schemas.Rides].End == 7
	})
}
