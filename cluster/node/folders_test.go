package node

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"taximeter/checkpoint"
	"taximeter/checkpoint/storetest"
	"taximeter/schemas"
)

// What a run has taken over is removed while the run may have ended already, and a new copy be
// made where the old one was.
func TestWhatARunTookOverGoesBesideANewCopy(t *testing.T) {
	n, _, tip := warmNode(t, 1)
	n.standby.wants(tip, []schemas.Partition{0}, nobody)
	follow(t, n)
	run := filepath.Join(n.home(0), "77", stateFolder)
	if err := os.MkdirAll(run, 0o755); err != nil {
		t.Fatal(err)
	}
	n.standby.take(0)
	earlier := n.earlier(0)
	if err := setAside(n.home(0), earlier...); err != nil {
		t.Fatal(err)
	}
	n.standby.give(0)
	if rounds := follow(t, n); rounds != 1 {
		t.Fatalf("%d rounds after the run", rounds)
	}
	if err := removeAside(n.home(0)); err != nil {
		t.Fatal(err)
	}
	if got := value(t, n, tip.Entries[0], n.standby.take(0), storetest.NewMemory()); got != "first" {
		t.Errorf("the new copy holds %q", got)
	}
	for _, dir := range []string{run, filepath.Join(n.home(0), asideFolder)} {
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is still there: %v", dir, err)
		}
	}
}

// A partition may leave again before what it left the first time is removed.
func TestWhatIsSetAsideMayLieThereAlready(t *testing.T) {
	in := t.TempDir()
	dir := filepath.Join(in, "3")
	for range 2 {
		if err := os.MkdirAll(filepath.Join(dir, "77"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := setAside(in, dir, filepath.Join(in, "missing")); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("it is still there: %v", err)
		}
	}
	if err := removeAside(in); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(in); err != nil || len(left) != 0 {
		t.Errorf("left are %v, %v", left, err)
	}
}

// The crew looks at the stores of all tasks that it sees, also of one whose start then fails.
func TestARunWhoseStartFailsKeepsItsStoreUntilTheCrewEndsIt(t *testing.T) {
	n, shared, _ := warmNode(t, 1)
	run := &task{node: n, store: large(t, shared)}
	run.ctx, run.cancel = n.ctx, n.cancel
	n.tasks = map[schemas.Partition]*task{0: run}
	broken := errors.New("the source is closed")
	if err := n.startFailed(run, broken); !errors.Is(err, broken) || !errors.Is(run.why(), broken) || run.ctx.Err() == nil {
		t.Errorf("it says %v, the run %v", err, run.why())
	}
	if _, err := run.store.Unsealed([]checkpoint.File{}); err != nil {
		t.Error(err)
	}
}
