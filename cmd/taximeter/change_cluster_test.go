package main

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"taximeter/actors/ingest"
	"taximeter/checkpoint"
	"taximeter/cluster/node"
	"taximeter/schemas"
)

// joined starts another node of the town's cluster.
func (x *town) joined(id string) *node.Node {
	x.Helper()
	cfg := x.cfg
	cfg.NodeID, cfg.Data, cfg.Cluster.Bootstrap = id, x.TempDir(), false
	cfg.Cluster.Listen, cfg.Cluster.Seeds = "127.0.0.1:0", []string{x.cfg.Cluster.Listen}
	n, err := node.Start(x.ctx, cfg, node.Options{AppendTimes: ingest.AppendTimesFromRecords, Log: slog.New(slog.NewTextHandler(&x.log, nil)).With("node", id)})
	if err != nil {
		x.Fatal(err)
	}
	return n
}

// push lets half an hour go by in every partition, whichever the trips of a round fall into.
func (x *town) push() {
	x.Helper()
	at := x.origin.Add(schemas.Millis(x.rounds)*10*schemas.Minute + 30*schemas.Minute)
	var lines strings.Builder
	for p, n := schemas.Partition(0), 0; p < 2; n++ {
		trip := fmt.Sprintf("push-%d-%d", x.rounds, n)
		if schemas.PartitionOf([]byte(trip), 2) != p {
			continue
		}
		fmt.Fprintf(&lines, `{"topic":%q,"appendedAt":%d,"value":{"eventId":"s","tripId":%q,"ocorridoEm":%d,"tipo":"INICIO"}}`+"\n", schemas.TopicRides, at+500, trip, at)
		fmt.Fprintf(&lines, `{"topic":%q,"appendedAt":%d,"value":{"eventId":"p","tripId":%q,"ocorridoEm":%d,"motoristaId":"m","latitude":41.15,"longitude":-8.61}}`+"\n", schemas.TopicTelemetry, at+500, trip, at)
		x.sent += 2
		p++
	}
	x.send(lines.String())
}

// An operator takes the namespace back, and back again, and forward, while nodes join, hand over
// and leave: nothing is lost, nothing doubled, and the cluster is whole afterwards.
func TestRestoresWhileNodesComeAndGo(t *testing.T) {
	x := newTown(t)
	x.cfg.Cluster.Listen, x.cfg.Cluster.Remote, x.cfg.Cluster.Bootstrap = free(t), "127.0.0.1:0", true
	x.cfg.Checkpoint.Interval = 200 * time.Millisecond
	x.start()
	chain := checkpoint.NewChain(must(x.cfg.Store.Open()), "taximeter")
	back := func(by checkpoint.Number) {
		t.Helper()
		tip := must(chain.Tip(x.ctx))
		to := max(tip.Number-by, tip.Oldest+2)
		if got := x.restore(to, "--unverified", "--reason", fmt.Sprint("from ", tip.Number)); !strings.HasSuffix(got, "exit 0\n") {
			t.Error(got)
		}
	}
	stop := func(n *node.Node) {
		t.Helper()
		if err := n.Stop(x.ctx); err != nil {
			t.Error(err)
		}
	}
	settled := func(what string, nodes ...*node.Node) {
		t.Helper()
		x.await(what, func() bool { return atWork(nodes...) == 2 })
	}
	x.round()
	x.round()
	settled("the first rounds", x.node)
	second := x.joined("n2")
	back(3) // while half of the partitions move
	x.round()
	back(1)
	back(4) // before anybody has begun
	settled("after two in a row", x.node, second)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		stop(second)
	}()
	x.await("it drains", func() bool {
		for _, m := range x.node.Cluster().Members {
			if m.ID == "n2" && m.Duty != "draining" {
				return false
			}
		}
		return true
	})
	back(2) // while it hands over
	<-ended
	x.round()
	settled("after a drain", x.node)
	third := x.joined("n3")
	x.await("both at work", func() bool { return atWork(x.node) == 1 && atWork(third) == 1 })
	tip := must(chain.Tip(x.ctx)).Number
	back(3)
	x.restore(tip, "--unverified", "--reason", "forward again")
	x.round()
	settled("after going forward", x.node, third)
	stop(third)
	x.round()
	settled("alone again", x.node)
	x.push()
	x.consumed()
	x.await("every trip is billed", func() bool { return len(x.results().FinalBills()) == 4*x.rounds })
	final := x.results()
	x.once(final)
	for id, b := range final.FinalBills() {
		if b.Version != 1 || b.Points != 10 {
			t.Errorf("bill of %s: %+v", id, b)
		}
	}
	if got := x.taximeter("checkpoint", "verify"); !strings.Contains(got, "is whole") {
		t.Error(got)
	}
}
