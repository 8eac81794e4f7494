package cluster

import (
	"slices"
	"testing"

	"taximeter/checkpoint"
	"taximeter/schemas"
)

func TestTheNewestCopyTakesOver(t *testing.T) {
	members := nodes(4)
	owners := []checkpoint.NodeID{"node-1", "node-1", "node-1", "node-2"}
	members[0].Duty = Absent
	members[3].Duty = Draining
	held := map[checkpoint.NodeID]Copies{"node-2": {0: 5, 1: 9}, "node-3": {0: 6, 1: 9}, "node-4": {0: 8}}
	next := Successors(members, owners, []checkpoint.NodeID{"node-1"}, held)
	first := checkpoint.NodeID("node-2") // of the equal copies of partition 1
	if score(1, members[2]) > score(1, members[1]) {
		first = "node-3"
	}
	if next[0] != "node-3" || next[1] != first || next[2] == "" || next[2] == "node-1" || next[2] == "node-4" || next[3] != "node-2" {
		t.Errorf("got %v", next)
	}
}

func TestTwoDeadAtOnceAreBothReplaced(t *testing.T) {
	members := nodes(3)
	members[0].Duty, members[1].Duty = Absent, Absent
	owners := []checkpoint.NodeID{"node-1", "node-2", "node-3"}
	held := map[checkpoint.NodeID]Copies{"node-2": {0: 5}, "node-3": {1: 5}}
	if next := Successors(members, owners, []checkpoint.NodeID{"node-1", "node-2"}, held); !slices.Equal(next, []checkpoint.NodeID{"node-3", "node-3", "node-3"}) {
		t.Errorf("got %v", next)
	}
}

func TestWhatComesIsWarmedBeforeWhatMight(t *testing.T) {
	members := nodes(3)
	owners := []checkpoint.NodeID{"node-1", "node-1", "node-1", "node-1", "node-3", ""}
	target := []checkpoint.NodeID{"node-2", "node-1", "node-2", "node-2", "node-3", "node-2"}
	plan := []Move{{Partition: 2, From: "node-1", To: "node-2"}, {Partition: 0, From: "node-1", To: "node-3"}}
	warm := Warm("node-2", members, owners, target, plan, 2)
	if want := []schemas.Partition{2, 0, 3, 1, 4}; !slices.Equal(warm, want) {
		t.Errorf("got %v, want %v: the planned move, what is to come, then as a standby; nothing that nobody runs", warm, want)
	}
	if warm := Warm("node-1", members, owners, target, plan, 0); len(warm) > 0 {
		t.Errorf("without standbys and moves to it a node warms %v", warm)
	}
	members[1].Duty = Draining
	if warm := Warm("node-2", members, owners, target, plan, 2); len(warm) > 0 {
		t.Errorf("a draining node warms %v", warm)
	}
}
