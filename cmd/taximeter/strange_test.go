package main

import (
	"errors"
	"net"
	"testing"

	"taximeter/actors/ingest"
	"taximeter/checkpoint"
	"taximeter/checkpoint/objectstore"
	"taximeter/cluster"
	"taximeter/cluster/admin"
	"taximeter/cluster/node"
)

// A member that can no longer read the chain gives its partitions up at once, and the others
// run them: kept by one that goes on beating, they would be committed by nobody.
func TestAMemberThatCannotFollowTheProtocolGivesUpItsPartitions(t *testing.T) {
	x := newTown(t)
	x.cfg.Cluster.Listen, x.cfg.Cluster.Remote, x.cfg.Cluster.Bootstrap, x.cfg.Cluster.Protocol = "127.0.0.1:0", "127.0.0.1:0", true, 1
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err == nil {
		x.cfg.Cluster.Listen = free.Addr().String()
		err = free.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	x.start()
	x.until("running", func(p admin.PartitionStatus) bool { return p.State == "running" })
	var others []*node.Node
	for _, id := range []string{"n2", "n3"} {
		cfg := x.cfg
		cfg.NodeID, cfg.Data, cfg.Cluster.Bootstrap, cfg.Cluster.Protocol = id, t.TempDir(), false, 0
		cfg.Cluster.Listen, cfg.Cluster.Seeds = "127.0.0.1:0", []string{x.cfg.Cluster.Listen}
		n, err := node.Start(x.ctx, cfg, node.Options{AppendTimes: ingest.AppendTimesFromRecords, Log: discard()})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := n.Stop(x.ctx); err != nil {
				t.Error(err)
			}
		}()
		others = append(others, n)
	}
	chain := checkpoint.NewChain(objectstore.NewFolder(x.cfg.Store.Folder), checkpoint.Namespace(x.cfg.Namespace))
	x.await("three members, all at work", func() bool {
		tip, err := chain.Tip(x.ctx)
		return err == nil && len(tip.Members) == 3 && len(tip.Owned("n1")) > 0 && atWork(x.node, others[0], others[1]) == len(tip.Entries)
	})
	raise := func() bool {
		tip, err := chain.Tip(x.ctx)
		if err != nil {
			t.Fatal(err)
		}
		next, err := checkpoint.Assign(tip, checkpoint.Limits{Retain: 20, MaxPending: 20}, checkpoint.Stamp{At: 1, By: "operator", Token: "by mistake"}, checkpoint.Speak{Protocol: 2})
		if err != nil {
			t.Fatal(err)
		}
		won, _, err := chain.Commit(x.ctx, next)
		return err == nil && won
	}
	x.await("the protocol raised by mistake", raise)
	x.await("given up", func() bool { return atWork(x.node) == 0 })
	x.await("taken by the others", func() bool { return atWork(others...) == 2 })
	if err, st := x.node.Ready(), x.node.Cluster(); !errors.Is(err, cluster.ErrNotSpoken) || st.Error != err.Error() {
		t.Errorf("/readyz says %v, /cluster %q", err, st.Error)
	}
	if x.log.count("cannot follow the namespace") != 1 || x.log.count("protocol 2 and this node up to 1") == 0 {
		t.Error("nobody is told why, or again and again")
	}
}

// atWork counts the partitions that run on the nodes.
func atWork(nodes ...*node.Node) (count int) {
	for _, n := range nodes {
		for _, p := range n.Partitions() {
			if p.State == "running" {
				count++
			}
		}
	}
	return count
}
