package cluster_test

import (
	"testing"

	"taximeter/checkpoint"
	"taximeter/cluster"
)

func TestANodeJoinsOnlyWhomItSees(t *testing.T) {
	view := func(ids ...checkpoint.NodeID) cluster.View {
		v := cluster.View{Self: ids[0], Joined: true}
		for _, id := range ids {
			v.Members = append(v.Members, cluster.Member{ID: id})
		}
		return v
	}
	resigned := view("a", "b", "c")
	resigned.Members[1].Duty, resigned.Members[2].Duty = cluster.Resigned, cluster.Resigned
	for name, c := range map[string]struct {
		members []checkpoint.NodeID
		view    cluster.View
		want    bool
	}{
		"nobody is a member":                    {nil, view("a"), true},
		"it sees all":                           {[]checkpoint.NodeID{"b", "c"}, view("a", "b", "c"), true},
		"it was cut off and taken over":         {[]checkpoint.NodeID{"b", "c"}, view("a"), false},
		"it sees one of two":                    {[]checkpoint.NodeID{"b", "c"}, view("a", "b"), false},
		"it sees two of three":                  {[]checkpoint.NodeID{"b", "c", "d"}, view("a", "b", "c"), true},
		"those it sees have resigned":           {[]checkpoint.NodeID{"b", "c"}, resigned, false},
		"it is the only one that the chain has": {[]checkpoint.NodeID{"a"}, view("a"), true},
	} {
		if got := c.view.Admits(checkpoint.Manifest{Members: c.members}); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	if v := view("a", "b", "c").Without([]checkpoint.NodeID{"a"}); v.Coordinator(checkpoint.Manifest{Members: []checkpoint.NodeID{"a", "b", "c"}}) != "b" {
		t.Error("without the first one the second coordinates")
	}
}
