//go:build integration

package chaos

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"taximeter/checkpoint"
	"taximeter/cmd/internal/chaos/inject"
)

// A process dies with transactions open and comes back when the broker has ended them.
func TestATransactionTimesOutWhileDown(t *testing.T) {
	died := at(inject.SentAfter, 2)
	died.Rest = 25 * time.Second // the timeouts are 22 s, and 7 s for alerts
	one(t, Options{Binary: build(t)}, []Life{died, at(inject.SentAfter, 1)})
}

// The same, with real Kafka's transaction coordinator.
func TestATransactionTimesOutWhileDownOnRealKafka(t *testing.T) {
	died := at(inject.SentAfter, 2)
	died.Rest = 40 * time.Second // it looks for timeouts each ten seconds
	one(t, Options{Binary: build(t), Real: realServers(t)}, []Life{died, at(inject.SentAfter, 1)})
}

func TestEveryPointByName(t *testing.T) {
	binary := build(t)
	for _, point := range inject.Points() {
		t.Run(string(point), func(t *testing.T) {
			t.Parallel()
			one(t, Options{Binary: binary}, []Life{at(point, 1), at(point, 3), at(point, 5)})
		})
	}
}

// How many runs a round of integration tests can afford; `make chaos` and `make chaos-real`
// make as many as wanted.
const (
	manyRuns = 200
	realRuns = 20
)

func TestManyCrashRuns(t *testing.T) {
	campaign(t, Options{Binary: build(t), Tables: 4, Readers: readers(t)}, 1000, manyRuns)
}

func TestCrashRunsOnRealServers(t *testing.T) {
	real, err := RealFromEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	campaign(t, Options{Binary: build(t), Real: real, Tables: 4, Readers: readers(t)}, 2000, realRuns)
}

// The faults of a cluster that differ most, each in a cluster of its own; the others, and
// mixtures of them, are `make chaos-cluster`'s.
func TestFaultsOfACluster(t *testing.T) {
	binary := build(t)
	for i, kind := range []Kind{Kill, Zombie, Split, CutStore, Rolling} {
		t.Run(string(kind), func(t *testing.T) {
			oneCluster(t, Options{Binary: binary}, uint64(i), 3, string(kind))
		})
	}
	t.Run("five nodes", func(t *testing.T) {
		oneCluster(t, Options{Binary: binary}, 100, 5, "kill:3,zombie,join,rolling")
	})
}

// Nodes of the version before and of this one work together, and the namespace speaks what
// all of them do.
func TestAClusterIsUpgradedNodeByNode(t *testing.T) {
	binary := build(t)
	for held := checkpoint.OldestProtocol; held < checkpoint.NewestProtocol; held++ {
		t.Run(fmt.Sprintf("from protocol %d", held), func(t *testing.T) {
			oneCluster(t, Options{Binary: binary, Held: held}, 110+uint64(held), 3, "upgrade")
		})
	}
}

// Shares follow weights, and copies stand in other zones, also after a take-over.
func TestSharesFollowWeightsAndCopiesZones(t *testing.T) {
	s := scenarioOf(t, 120, 3, "kill,leave")
	s.Weights, s.Zones = []int{100, 200, 100}, []string{"a", "a", "b"}
	runCluster(t, Options{Binary: build(t)}, s)
}

// Take-overs and planned moves of partitions whose state is not fetched within a moment.
func TestPartitionsWithMuchStateMove(t *testing.T) {
	s := scenarioOf(t, 130, 3, "kill:2,leave,join")
	s.State = 48 << 20 // 12 MB a partition: more than what moves without a copy
	runCluster(t, Options{Binary: build(t)}, s)
}

// One node has everything, a second comes and takes half, and no alert is late for it.
func TestASecondNodeTakesHalfWithinTheAlertDeadline(t *testing.T) {
	const enough = 10
	s := scenarioOf(t, 140, 1, "grow")
	s.Rate = 3000
	r := runCluster(t, Options{Binary: build(t)}, s)
	if latest := Percentile(r.Times.Alert, 100); latest > alertDeadline || len(r.Times.Alert) < enough {
		t.Errorf("%d alerts while half of the partitions moved, the latest after %s", len(r.Times.Alert), latest)
	}
	t.Logf("%d alerts, p50 %s, the latest after %s", len(r.Times.Alert), Percentile(r.Times.Alert, 50), Percentile(r.Times.Alert, 100))
	if len(r.Times.Move) < s.Partitions/2 {
		t.Errorf("%d of %d partitions moved", len(r.Times.Move), s.Partitions)
	}
}

func oneCluster(t *testing.T, o Options, seed uint64, nodes int, acts string) {
	t.Helper()
	runCluster(t, o, scenarioOf(t, seed, nodes, acts))
}

func scenarioOf(t *testing.T, seed uint64, nodes int, acts string) ClusterScenario {
	t.Helper()
	s, err := ClusterOf(seed, nodes, acts)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func runCluster(t *testing.T, o Options, s ClusterScenario) ClusterResult {
	t.Helper()
	o.Dir, o.Log = t.TempDir(), slog.New(slog.DiscardHandler)
	r := RunCluster(t.Context(), o, s)
	for _, told := range r.Reordered {
		t.Log(told)
	}
	if !r.OK() {
		t.Errorf("%s\nduplicated=%d missing=%d differing=%d\n%s", s, r.Duplicated, r.Missing, r.Differing, strings.Join(r.Findings, "\n"))
	}
	return r
}
