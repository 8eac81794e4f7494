package kafkaout

import (
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/schemas"
	"taximeter/sinks"
)

// dials counts the connections that clients make.
type dials struct{ atomic.Int64 }

func (d *dials) OnBrokerConnect(kgo.BrokerMetadata, time.Duration, net.Conn, error) { d.Add(1) }

// What is prepared belongs to its holder until it is opened, and then nothing is connected any more.
func TestPreparingConnectsAndTakesNothing(t *testing.T) {
	var made dials
	w := newWorld(t)
	next := w.node("ns", kgo.WithHooks(&made))
	holder, err := w.kafka.OpenAlerts(w.ctx(), ours3)
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close()
	if _, err := next.partitions(w.ctx(), schemas.TopicAlerts); err != nil { // connects for questions
		t.Fatal(err)
	}
	for range 2 {
		if err := next.PrepareAlerts(w.ctx(), ours3); err != nil {
			t.Fatal(err)
		}
		if _, err := holder.SendAlerts(w.ctx(), []schemas.Alert{alertOf("r")}); err != nil {
			t.Fatalf("the holder while another prepares: %v", err)
		}
	}
	if _, err := next.offset(w.ctx(), schemas.TopicAlertIDs, ours3, endOfLog); err != nil { // and with the leader
		t.Fatal(err)
	}
	before := made.Load()
	taker, err := next.OpenAlerts(w.ctx(), ours3)
	if err != nil {
		t.Fatal(err)
	}
	defer taker.Close()
	if n := made.Load() - before; n != 0 {
		t.Errorf("%d connections were made", n)
	}
	if _, err := holder.SendAlerts(w.ctx(), []schemas.Alert{alertOf("r")}); !errors.Is(err, sinks.ErrFenced) {
		t.Errorf("the holder before was not fenced: %v", err)
	}
	if _, err := taker.SendAlerts(w.ctx(), []schemas.Alert{alertOf("r")}); err != nil {
		t.Error(err)
	}
}

// What nobody takes is let go, also when nothing is prepared any more.
func TestWhatIsPreparedForNothingIsLetGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p prepared
		client := func() *kgo.Client {
			c, err := Options{Namespace: "ns"}.sender("id", time.Second)
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		left, again := client(), client()
		p.put("left", left)
		p.put("again", again)
		<-time.After(preparedFor / 2)
		p.put("again", p.take("again"))
		<-time.After(preparedFor/2 + time.Second)
		if p.take("left") != nil || !errors.Is(left.Ping(t.Context()), kgo.ErrClientClosed) {
			t.Error("kept")
		}
		if p.take("again") != again {
			t.Error("let go too early")
		}
		again.Close()
	})
}
