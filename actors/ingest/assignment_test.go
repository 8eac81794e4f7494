package ingest

import (
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/schemas"
)

// lost counts the connections that a client has closed or lost.
type lost struct{ atomic.Int64 }

func (l *lost) OnBrokerDisconnect(kgo.BrokerMetadata, net.Conn) { l.Add(1) }

// A partition that is removed or added must not end the fetches of those that stay: their
// connections would have to be made anew.
func TestAPartitionThatGoesOrComesLeavesTheOthersAlone(t *testing.T) {
	var connections lost
	w := newWorld(t, func(o *Options) { o.Client = append(o.Client, kgo.WithHooks(&connections)) })
	stays := w.add(0, [schemas.NumInputs]schemas.Offset{})
	reads := func(inbox chan *Batch, p int32, id string) {
		t.Helper()
		w.produce(w.client, record(schemas.Rides, p, id))
		b := w.next(inbox)
		if ids(b) != id {
			t.Fatalf("read %s, want %s", ids(b), id)
		}
		b.Release()
	}
	reads(stays, 0, "a")
	for p := range schemas.Partition(3) {
		goes := w.add(1+p, [schemas.NumInputs]schemas.Offset{})
		reads(goes, 1+int32(p), "b")
		reads(stays, 0, "c")
		if err := w.source.Remove(1 + p); err != nil {
			t.Fatal(err)
		}
		w.produce(w.client, record(schemas.Rides, 1+int32(p), "nobody's"))
		reads(stays, 0, "d")
		if len(goes) != 0 {
			t.Errorf("partition %d was removed and brings %s", 1+p, ids(<-goes))
		}
	}
	if n := connections.Load(); n != 0 {
		t.Errorf("%d connections were closed", n)
	}
	for p := range schemas.Partition(3) { // all come back, one of them elsewhere
		var from [schemas.NumInputs]schemas.Offset
		from[schemas.Rides] = 1 - schemas.Offset(p%2)
		want := []string{"nobody's", "b nobody's"}[p%2]
		if b := w.next(w.add(1+p, from)); ids(b) != want {
			t.Errorf("partition %d from %d: %s", 1+p, from, ids(b))
		}
	}
	reads(stays, 0, "e")
}

// What an operator is told as waits are pauses of the reading, and neither gaps between
// events nor time before a partition was read here.
func TestWaitsArePausesOfTheReading(t *testing.T) {
	const ms = time.Millisecond
	const broker, other = 1, 2
	began := time.UnixMilli(1_000_000)
	a, l := newAnswers(), &lane{topic: schemas.Rides, partition: 3}
	for i, c := range []struct {
		do   func()
		took time.Duration // when the records are taken from the client; 0 = they are not
		from time.Duration // when they were appended
		wait time.Duration // < 0 = not known
	}{
		{func() { a.answer(broker, began.Add(900*ms)); a.answer(broker, began.Add(990*ms)) }, 1000 * ms, -time.Hour, -1 * ms},  // the first since it was added
		{func() { a.answer(broker, began.Add(8900*ms)); a.answer(broker, began.Add(8990*ms)) }, 9000 * ms, 8980 * ms, 20 * ms}, // nothing had been there before
		{func() { a.answer(broker, began.Add(9300*ms)) }, 9310 * ms, 9020 * ms, 290 * ms},                                      // a pause
		{func() { a.answer(other, began.Add(9349*ms)); a.answer(broker, began.Add(9350*ms)) }, 9360 * ms, -time.Hour, 60 * ms}, // far behind, or another clock
		{func() { a.answer(broker, began.Add(9400*ms)) }, 0, 0, 0},                                                             // the client throws it away
		{func() { a.answer(broker, began.Add(9500*ms)) }, 9510 * ms, -time.Hour, 160 * ms},                                     // and fetches it again
		{func() { a.answer(broker, began.Add(9600*ms)) }, 9610 * ms, 9700 * ms, 0},                                             // the broker's clock is ahead
		{func() { a.answer(broker, began.Add(9700*ms)); a.forget(l) }, 9710 * ms, 9690 * ms, -1 * ms},                          // it was paused
	} {
		c.do()
		a.brought(broker, l.key())
		if c.took == 0 {
			continue
		}
		wait, known := a.waited(l, []*kgo.Record{{Timestamp: began.Add(c.from)}}, began.Add(c.took))
		if !known {
			wait = -1 * ms
		}
		if wait != c.wait {
			t.Errorf("fetch %d: %s, want %s", i, wait, c.wait)
		}
	}
	if _, known := a.waited(l, nil, began); known {
		t.Error("nothing came, and waited")
	}
}

// One wait is told for each fetch and topic-partition, but for the first.
func TestWaitsAreTold(t *testing.T) {
	waits := make(chan time.Duration, 100)
	w := newWorld(t, func(o *Options) { o.OnWait = func(d time.Duration) { waits <- d } })
	inbox := w.add(0, [schemas.NumInputs]schemas.Offset{})
	began := time.Now()
	for i := range 3 {
		w.produce(w.client, record(schemas.Rides, 0, name(i)))
		w.next(inbox).Release()
		if len(waits) != i {
			t.Fatalf("%d waits after %d fetches", len(waits), i+1)
		}
	}
	for len(waits) > 0 {
		if wait := <-waits; wait > time.Since(began) {
			t.Errorf("a wait of %s", wait)
		}
	}
}
