package node

import (
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"taximeter/actors/coordinator"
	"taximeter/checkpoint"
	"taximeter/cluster"
	"taximeter/schemas"
)

// decider is a crew with a coordinator, over a chain of which a and b are members; b is it.
func decider(t *testing.T) (*crew, checkpoint.Manifest) {
	t.Helper()
	n, _, tip := warmNode(t, 1)
	tip.Members = []checkpoint.NodeID{"a", "b"}
	kept(t, n, tip)
	n.clock = newClock(nil)
	n.system = actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return n.log }))
	n.coordinator = n.system.Root.Spawn(coordinator.New(coordinator.Options{Chain: checkpoint.NewChain(n.store, n.ns), Node: "b", Limits: n.limits(), Interval: time.Hour,
		Deadline: time.Minute, Now: n.clock.now, Token: n.token, Log: n.log}, &n.rounds))
	t.Cleanup(func() {
		if err := n.system.Root.StopFuture(n.coordinator).Wait(); err != nil {
			t.Error(err)
		}
		n.system.Shutdown()
	})
	n.crew.node, n.crew.chain = n, checkpoint.NewChain(n.store, n.ns)
	return n.crew, tip
}

// A node that was taken over joins again before whoever took it over has seen the chain without it.
func TestWhoJoinsAgainBetweenTwoStepsIsNotTakenOverAgain(t *testing.T) {
	c, tip := decider(t)
	self := cluster.Member{ID: "b", Weight: 1}
	view := cluster.View{Self: "b", Joined: true, Members: []cluster.Member{{ID: "a", Weight: 1}, self}}
	c.pulse.began = time.Now().Add(-time.Hour)
	for at := time.Since(c.pulse.began) - 2*cluster.HeartbeatPatience; at < time.Since(c.pulse.began); at += time.Second {
		c.pulse.watch.Put(at)
		c.pulse.watch.Saw("a", "still", at)
		c.pulse.watch.Look(tip, view, at)
	}
	if _, err := c.members(t.Context(), tip, view, self); err != nil {
		t.Fatal(err)
	}
	tip, err := c.chain.Tip(t.Context())
	if err != nil || tip.IsMember("a") {
		t.Fatalf("one whose heart stands still is still a member: %v, %v", tip.Members, err)
	}
	joined, err := checkpoint.Assign(tip, c.node.limits(), checkpoint.Stamp{At: schemas.Millis(1), By: "a", Token: "again"}, checkpoint.Join{Node: "a"})
	if err != nil {
		t.Fatal(err)
	}
	if won, _, err := c.chain.Commit(t.Context(), joined); err != nil || !won {
		t.Fatal(won, err)
	}
	if _, err := c.members(t.Context(), joined, view, self); err != nil {
		t.Fatal(err)
	}
	if tip, err = c.chain.Tip(t.Context()); err != nil || !slices.Equal(tip.Members, joined.Members) {
		t.Errorf("the members are %v: %v", tip.Members, err)
	}
}
