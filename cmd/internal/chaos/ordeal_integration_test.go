//go:build integration

package chaos

import (
	"testing"
	"time"
)

// The same as TestTheObjectStoreIsDownForTenMinutes, with the S3 client and its retries
// between node and outage.
func TestARealObjectStoreIsDownForTenMinutes(t *testing.T) {
	t.Parallel()
	e := ordeal(t, Options{Real: realServers(t)}, DrawOrdeal(8, StoreDown, 2*tenMinutes))
	e.alertsKept(t)
	if e.Checkpoints > 1 { // one may be under way
		t.Errorf("%d checkpoints without a store", e.Checkpoints)
	}
}

func TestASlowAndFailingObjectStoreDelaysNoAlert(t *testing.T) {
	t.Parallel()
	e := ordeal(t, Options{}, DrawOrdeal(2, StoreSlow, tenMinutes))
	e.alertsKept(t)
}

func TestTheRegistryIsDownForMinutesAndOnePartitionWaits(t *testing.T) {
	t.Parallel()
	e := ordeal(t, Options{}, DrawOrdeal(3, RegistryDown, tenMinutes))
	e.alertsKept(t)
	if !e.Waited[0] || e.Waited[1] || e.Waited[2] {
		t.Errorf("waiting partitions: %v", e.Waited)
	}
	if e.Consumed[1] < 10*e.Consumed[0] || e.Consumed[2] < 10*e.Consumed[0] {
		t.Errorf("offsets consumed meanwhile: %v", e.Consumed)
	}
}

func TestTheOutputIsBlockedForTenMinutes(t *testing.T) {
	t.Parallel()
	x := DrawOrdeal(4, OutputBlocked, tenMinutes)
	e := ordeal(t, Options{}, x)
	e.says(t, "cannot send alerts; trying again")
	for p, n := range e.Consumed {
		if n == 0 {
			t.Errorf("partition %d stood still", p)
		}
	}
}

func TestTheDiskIsFull(t *testing.T) {
	t.Parallel()
	e := ordeal(t, Options{}, DrawOrdeal(5, DiskFull, tenMinutes))
	e.alertsKept(t)
	e.says(t, "no space left in the data folder; checkpoints and bills wait until there is, alerts go on")
}

func TestTheClockIsSetForwardByHours(t *testing.T) {
	t.Parallel()
	e := ordeal(t, Options{}, DrawOrdeal(6, ClockAhead, tenMinutes))
	e.alertsKept(t)
	e.says(t, "the machine's clock was set")
}

func TestTheClockIsSetBackByHours(t *testing.T) {
	t.Parallel()
	e := ordeal(t, Options{}, DrawOrdeal(7, ClockBack, tenMinutes))
	e.alertsKept(t)
	e.says(t, "the machine's clock was set")
}

// Memory is no reason to stand still: checkpoints come early, the input waits for them and goes on.
func TestANodeWithTooLittleMemoryGoesOn(t *testing.T) {
	t.Parallel()
	x := DrawOrdeal(11, Cramped, tenMinutes)
	x.Checkpoint, x.Rate = 10*time.Second, 700
	e := ordeal(t, Options{}, x)
	e.alertsKept(t)
	e.says(t, "memory is nearly full: the input waits for a checkpoint")
	if e.Checkpoints < 2 { // one comes by itself
		t.Errorf("%d checkpoints in %s", e.Checkpoints, x.For)
	}
}

// The same events as ever come out, on real Kafka and a real S3, when an operator takes the
// running node back by four checkpoints ...
func TestARunningNodeIsTakenBackFourCheckpointsOnRealServers(t *testing.T) {
	t.Parallel()
	e := ordeal(t, Options{Real: realServers(t)}, DrawOrdeal(9, TakenBack, tenMinutes))
	e.says(t, "what this run still writes is refused")
}

// ... and when retention passes a partition that goes on by an operator's word.
func TestAPartitionThatRetentionPassedGoesOnOnRealServers(t *testing.T) {
	t.Parallel()
	e := ordeal(t, Options{Real: realServers(t)}, DrawOrdeal(10, PassedBy, 0))
	e.says(t, "7 records are missing")
	e.says(t, "an operator moved where consumption goes on")
}

func realServers(t *testing.T) *Real {
	t.Helper()
	real, err := RealFromEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	return real
}
