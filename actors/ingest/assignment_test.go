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
	began := time.UnixMilli(1_000_000)
	record := func(appended time.Duration) []*kgo.Record {
		return []*kgo.Record{{Timestamp: began.Add(appended)}}
	}
	l := &lane{}
	for i, c := range []struct {
		at      time.Duration // of the fetch
		records []*kgo.Record
		wait    time.Duration // < 0 = not known
	}{
		{1000 * ms, record(-time.Hour), -1},      // the first since it was added
		{1100 * ms, nil, -1},                     // brought nothing
		{9000 * ms, record(8990 * ms), 10 * ms},  // nothing had been there to read
		{9300 * ms, record(9020 * ms), 280 * ms}, // a pause
		{9350 * ms, record(-time.Hour), 50 * ms}, // far behind: since the fetch before
		{9400 * ms, record(9500 * ms), 0},        // the broker's clock is ahead
	} {
		wait, known := l.waited(c.records, began.Add(c.at))
		if !known {
			wait = -1
		}
		if wait != c.wait {
			t.Errorf("fetch %d: %s, want %s", i, wait, c.wait)
		}
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
