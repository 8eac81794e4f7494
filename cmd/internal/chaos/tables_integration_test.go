//go:build integration

package chaos

import (
	"testing"
	"time"

	"taximeter/cmd/internal/chaos/inject"
	"taximeter/internal/serverstest"
)

// readers are what checks lake and tables.
func readers(t *testing.T) string {
	t.Helper()
	return serverstest.Setting(t, "TAXIMETER_READERS")
}

func withTables(s *Scenario) { s.Tables = true }

// A commit of the lake goes table by table. Whichever table it has come to when its process
// dies, every row is in every table once.
func TestKilledBetweenTablesOfACommit(t *testing.T) {
	for name, lives := range map[string][]Life{
		"of the first commit": {at(inject.LakeTable, 1), at(inject.LakeTable, 2), at(inject.LakeTable, 4), at(inject.LakeTable, 6)},
		"of a later commit":   {at(inject.LakeAfter, 1), at(inject.LakeTable, 1), at(inject.LakeTable, 3), at(inject.LakeTable, 5)},
		"before the verdicts": {at(inject.LakeVerdicts, 1), at(inject.LakeVerdicts, 1), at(inject.LakeAfter, 1), at(inject.LakeVerdicts, 1)},
		"in a replay":         {inReplay(at(inject.LakeTable, 3)), inReplay(at(inject.LakeVerdicts, 1))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for i := range lives {
				lives[i].After = startPatience // the point comes first
			}
			r := one(t, Options{Binary: build(t), Readers: readers(t)}, lives, withTables)
			if r.AtPoints != len(lives) {
				t.Errorf("%d of %d processes were ended at their points", r.AtPoints, len(lives))
			}
		})
	}
}

func inReplay(l Life) Life {
	l.Replay = true
	return l
}

// Two processes feed the same tables for a while, one of them not knowing that it is dead.
func TestTwoOwnersFeedTheTables(t *testing.T) {
	t.Parallel()
	one(t, Options{Binary: build(t), Readers: readers(t)}, []Life{{End: Overtaken, After: time.Second}, {End: Overtaken, After: 2 * time.Second, SameData: true}}, withTables)
}

// The broker and its log of what the lake reads again go down and come back.
func TestTheBrokerRestartsUnderTheLake(t *testing.T) {
	t.Parallel()
	one(t, Options{Binary: build(t), Readers: readers(t)}, []Life{{End: Rebooted, After: time.Second}, {End: Rebooted, After: 2 * time.Second}}, withTables)
}

func ordealWithTables(t *testing.T, seed uint64, fault Fault, lasting time.Duration, rate int) Endured {
	t.Helper()
	x := DrawOrdeal(seed, fault, lasting)
	x.Tables, x.Rate = true, rate
	return ordeal(t, Options{Readers: readers(t)}, x)
}

// Lake and analytical database are down: alerts and bills come out as ever, and tables catch
// up with all that they missed.
func TestTheTablesAreDownForTenMinutes(t *testing.T) {
	t.Parallel()
	e := ordealWithTables(t, 11, SinksDown, 2*tenMinutes, 600)
	e.alertsKept(t)
	e.says(t, "a sink cannot be fed; it will be tried again, everything else goes on")
	if e.Bills == 0 || e.Checkpoints < 3 || e.Behind["lake"] < e.Checkpoints || e.Behind["analytics"] < e.Checkpoints {
		t.Errorf("%d bills and %d checkpoints meanwhile, tables behind by %v", e.Bills, e.Checkpoints, e.Behind)
	}
	if most := 5 * 20; e.Resident > most { // what waits for tables waits in the store
		t.Errorf("%d trips stay in memory of one partition, 20 may", e.Resident)
	}
}

// Three nodes keep a lake and the analytical table in PostgreSQL: who feeds them is killed, and
// moves as planned, and every row is in both once.
func TestAClusterKeepsTheTables(t *testing.T) {
	s := scenarioOf(t, 150, 3, "kill:3,leave,join")
	s.Tables, s.Rate = true, 300
	for i := range s.Acts { // each node once, so those that feed too
		s.Acts[i].Node = i % s.Nodes
	}
	runCluster(t, Options{Binary: build(t), Readers: readers(t)}, s)
}

// An operator takes the running node back by four checkpoints, all of which the tables have:
// no row is lost, and none is there twice.
func TestARunningNodeIsTakenBackUnderTheTables(t *testing.T) {
	t.Parallel()
	e := ordealWithTables(t, 12, TakenBack, tenMinutes, 300)
	e.says(t, "what this run still writes is refused")
}
