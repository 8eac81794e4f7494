package node

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"taximeter/checkpoint"
	"taximeter/checkpoint/storetest"
	"taximeter/cluster"
	"taximeter/schemas"
)

// The heart of a node that has resigned stands still, whatever it still copies: of two nodes
// the other one has no majority and goes by that alone.
func TestAResignedNodesHeartStandsStill(t *testing.T) {
	n, _, tip := warmNode(t, 2)
	p := n.crew.pulse
	beat := func() string {
		t.Helper()
		p.beat(t.Context())
		mark, _, err := cluster.ReadHeartbeat(t.Context(), n.store, n.ns, n.id())
		if err != nil {
			t.Fatal(err)
		}
		return mark
	}
	if first, second := beat(), beat(); first == second {
		t.Error("two beats of a node that serves are alike")
	}
	p.estrange(true)
	before := beat()
	n.standby.wants(tip, []schemas.Partition{0, 1}, nobody)
	follow(t, n)
	if after := beat(); after != before {
		t.Errorf("a node that has resigned goes on beating: %s, then %s", before, after)
	}
	p.estrange(false)
	if beat() == before || p.duty != cluster.Serving {
		t.Error("a node that is back does not beat, or does not serve")
	}
}

// ward is nodes of which only the pulses work, over one store and one Kafka; gossip is at once.
type ward struct {
	mu     sync.Mutex // guards all below
	duties map[checkpoint.NodeID]cluster.Duty
	gone   map[checkpoint.NodeID]bool // for whom Kafka is away

	tip    checkpoint.Manifest
	pulses map[checkpoint.NodeID]*pulse
}

func newWard(t *testing.T, members ...checkpoint.NodeID) *ward {
	t.Helper()
	w := &ward{duties: make(map[checkpoint.NodeID]cluster.Duty), gone: make(map[checkpoint.NodeID]bool), pulses: make(map[checkpoint.NodeID]*pulse)}
	w.tip = checkpoint.Genesis("ns", [schemas.NumInputs]string{}, make([]checkpoint.Offsets, 1), checkpoint.Stamp{By: "a", Token: "t"})
	w.tip.Members = members
	store := storetest.NewMemory()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	for _, id := range members {
		n := &Node{cfg: Default(), log: slog.New(slog.DiscardHandler), ns: "ns", store: store, ctx: ctx}
		n.cfg.NodeID = string(id)
		n.standby = newStandby(n)
		n.tip.Store(&w.tip)
		answered := time.Now()
		w.pulses[id] = newPulse(n, func(d cluster.Duty) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.duties[id] = d
		}, func() time.Time {
			w.mu.Lock()
			defer w.mu.Unlock()
			if !w.gone[id] {
				answered = time.Now()
			}
			return answered
		})
	}
	return w
}

// lose takes Kafka away from the nodes, or gives it back.
func (w *ward) lose(gone bool, ids ...checkpoint.NodeID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, id := range ids {
		w.gone[id] = gone
	}
}

func (w *ward) view(self checkpoint.NodeID) cluster.View {
	w.mu.Lock()
	defer w.mu.Unlock()
	v := cluster.View{Self: self, Joined: true}
	for _, id := range w.tip.Members {
		v.Members = append(v.Members, cluster.Member{ID: id, Weight: 1, Duty: w.duties[id]})
	}
	return v
}

// beat lets all beat, one so much later than the other.
func (w *ward) beat(later time.Duration) {
	for _, id := range w.tip.Members {
		go w.pulses[id].run()
		time.Sleep(later) //nolint:forbidigo // in a bubble
	}
}

// wards tries two nodes and three, that beat at the same moments or at others.
func wards(t *testing.T, try func(t *testing.T, w *ward)) {
	for _, members := range [][]checkpoint.NodeID{{"a", "b"}, {"a", "b", "c"}} {
		for later := time.Duration(0); later < cluster.HeartbeatEvery; later += 300 * time.Millisecond {
			t.Run(fmt.Sprintf("%d nodes, each %s later", len(members), later), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWard(t, members...)
					w.beat(later)
					w.watch(10 * time.Second)
					try(t, w)
				})
			})
		}
	}
}

// watch lets time pass, and says whom somebody would take over from; those who have resigned do
// not look, as the crew does not.
func (w *ward) watch(d time.Duration) map[checkpoint.NodeID]bool {
	dead := make(map[checkpoint.NodeID]bool)
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(stepEvery) { //nolint:forbidigo // in a bubble
		for id, p := range w.pulses {
			v := w.view(id)
			if self, _ := v.Member(id); self.Duty == cluster.Resigned {
				continue
			}
			for _, take := range p.takeOvers(w.tip, v) {
				dead[take.Dead] = true
			}
		}
	}
	return dead
}

func (w *ward) resigned() (n int) {
	for _, m := range w.view("a").Members {
		if m.Duty == cluster.Resigned {
			n++
		}
	}
	return n
}

// All lose Kafka for half a minute, and it comes back to each at its own time.
func TestAnOutageOfAllChangesNoMembers(t *testing.T) {
	wards(t, func(t *testing.T, w *ward) {
		w.lose(true, w.tip.Members...)
		if dead := w.watch(30 * time.Second); len(dead) > 0 || w.resigned() != len(w.tip.Members) {
			t.Errorf("while Kafka is away from all %v are taken over, %d have resigned", dead, w.resigned())
		}
		for _, id := range w.tip.Members {
			w.lose(false, id)
			if dead := w.watch(time.Second); len(dead) > 0 {
				t.Errorf("as it comes back to %s, %v are taken over", id, dead)
			}
		}
		if dead := w.watch(time.Minute); len(dead) > 0 || w.resigned() != 0 {
			t.Errorf("once it is back %v are taken over, %d have resigned", dead, w.resigned())
		}
	})
}

// From one that alone has lost Kafka the others take over, of two nodes after the heartbeat's
// patience.
func TestANodeThatAloneLosesKafkaIsTakenOver(t *testing.T) {
	wards(t, func(t *testing.T, w *ward) {
		w.lose(true, "b")
		if dead := w.watch(35 * time.Second); len(dead) != 1 || !dead["b"] {
			t.Errorf("%v are taken over", dead)
		}
	})
}

// Of two that have lost Kafka the first that has it back gives the other as long as its heart.
func TestOfTwoTheFirstThatIsBackWaitsForTheOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWard(t, "a", "b")
		w.beat(0)
		w.lose(true, "a", "b")
		w.watch(30 * time.Second)
		w.lose(false, "a")
		if dead := w.watch(2 * settled); len(dead) > 0 || w.resigned() != 1 {
			t.Errorf("%v are taken over, %d have resigned", dead, w.resigned())
		}
		if dead := w.watch(cluster.HeartbeatPatience); len(dead) != 1 || !dead["b"] {
			t.Errorf("%v are taken over in the end", dead)
		}
	})
}
