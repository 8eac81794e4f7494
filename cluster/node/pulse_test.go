package node

import (
	"testing"

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
		if err := p.put(t.Context()); err != nil {
			t.Fatal(err)
		}
		mark, _, err := n.readHeartbeat(t.Context(), n.id())
		if err != nil {
			t.Fatal(err)
		}
		return mark
	}
	if first, second := beat(), beat(); first == second {
		t.Error("two beats of a node that serves are alike")
	}
	p.duty = cluster.Resigned
	before := beat()
	n.standby.wants(tip, []schemas.Partition{0, 1}, nobody)
	follow(t, n)
	if after := beat(); after != before {
		t.Errorf("a node that has resigned goes on beating: %s, then %s", before, after)
	}
	p.duty = cluster.Serving
	if beat() == before {
		t.Error("a node that is back does not beat")
	}
}
