package node

import (
	"errors"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"taximeter/actors/coordinator"
	"taximeter/checkpoint"
	"taximeter/checkpoint/pebblestore"
	"taximeter/cluster"
	"taximeter/schemas"
)

// standIn takes the coordinator's messages.
func standIn(t *testing.T, n *Node, receive actor.ReceiveFunc) {
	t.Helper()
	n.system = actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return n.log }))
	n.coordinator = n.system.Root.Spawn(actor.PropsFromFunc(receive))
	t.Cleanup(n.system.Shutdown)
}

// A move that waits behind rounds for longer than it may take is withdrawn, and its partition
// runs on, also when its turn comes after all.
func TestAMoveWhoseTurnDoesNotComeLeavesItsPartitionRunning(t *testing.T) {
	n, _, _ := warmNode(t, 1)
	n.cfg.Checkpoint.Deadline = 20 * time.Millisecond
	free, quiesced := make(chan struct{}), make(chan error, 1)
	standIn(t, n, func(ctx actor.Context) {
		if m, ok := ctx.Message().(*coordinator.Move); ok {
			<-free
			quiesced <- m.Quiesce()
		}
	})
	n.crew.node = n
	run := &task{node: n}
	if _, _, err := n.crew.handOver(t.Context(), run, cluster.Member{ID: "c"}); !errors.Is(err, errNotItsTurn) {
		t.Errorf("it says %v", err)
	}
	if run.stopping.Load() {
		t.Error("a partition that nobody has received is stopped")
	}
	close(free)
	if err := <-quiesced; !errors.Is(err, errNotItsTurn) {
		t.Errorf("a move that was withdrawn goes on: %v", err)
	}
}

// Moves that wait for a checkpoint ask for one, all together, and for the next when it was
// not enough.
func TestMovesThatWaitAskForOneCheckpoint(t *testing.T) {
	n, shared, tip := warmNode(t, 3)
	var rounds atomic.Int64
	standIn(t, n, func(ctx actor.Context) {
		switch ctx.Message().(type) {
		case *coordinator.Round:
			rounds.Add(1)
		case string:
			ctx.Respond(true)
		}
	})
	n.crew.node, n.crew.chain, n.crew.waits = n, checkpoint.NewChain(n.store, n.ns), make(map[schemas.Partition]wait)
	to := cluster.Member{ID: "c", Weight: 1, Speaks: cluster.Protocols{Min: checkpoint.Protocol2, Max: checkpoint.Protocol2}}
	var runs []*task
	for p := range tip.Entries {
		tip.Entries[p].Files = nil
		runs = append(runs, &task{node: n, partition: schemas.Partition(p), store: large(t, shared)})
	}
	look := func() int64 {
		t.Helper()
		for _, run := range runs {
			if n.crew.warm(t.Context(), tip, cluster.View{}, run, to) {
				t.Fatal("it does not wait")
			}
		}
		if _, err := ask[bool](t.Context(), n, n.coordinator, "all before are received"); err != nil {
			t.Fatal(err)
		}
		return rounds.Load()
	}
	asks := func(want int64, why string) {
		t.Helper()
		for end := time.Now().Add(10 * time.Second); look() < want && time.Now().Before(end); { // a compaction may be under way
		}
		if look(); look() != want {
			t.Errorf("%d checkpoints are asked for %s, not %d", rounds.Load(), why, want)
		}
	}
	asks(1, "by three moves")
	tip.Number++
	for p := range tip.Entries {
		tip.Entries[p].Made = tip.Number
	}
	asks(2, "when one was not enough")
	n.crew.asked.at = time.Now().Add(-n.cfg.Checkpoint.Deadline)
	asks(3, "when one did not come")
}

// What a compaction has written anew is sealed also where no traffic ever asks for a seal: a
// move would wait for it until its patience ends.
func TestAPartitionWithoutTrafficIsSealedForItsFiles(t *testing.T) {
	n, shared, tip := warmNode(t, 1)
	run := &task{node: n, store: large(t, shared)}
	for end := time.Now().Add(10 * time.Second); run.store.Compacting() && time.Now().Before(end); {
		runtime.Gosched()
	}
	if !run.rewritten(checkpoint.Entry{}) {
		t.Error("much that no entry holds is not worth a seal")
	}
	snapshot, err := run.store.Checkpoint(filepath.Join(t.TempDir(), "snapshot"))
	if err != nil {
		t.Fatal(err)
	}
	up, err := snapshot.Upload(t.Context(), n.store, n.ns, checkpoint.NewSeal(tip, 0, 0).Place(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if run.rewritten(checkpoint.Entry{Files: up.Files}) {
		t.Error("what the entry holds is sealed again and again")
	}
}

// large is a store with more in its tables than a move brings along while it stands still.
func large(t *testing.T, shared *pebblestore.Shared) *pebblestore.Store {
	t.Helper()
	dir := t.TempDir()
	st, err := pebblestore.Open(filepath.Join(dir, "state"), shared)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	b := st.NewBatch()
	random := rand.NewChaCha8([32]byte{})
	for i := range byte(20) {
		row := make([]byte, coldBytes/16)
		if _, err := random.Read(row); err != nil {
			t.Fatal(err)
		}
		b.Put([]byte{'t', i}, row)
	}
	err = st.Apply(t.Context(), b)
	if err == nil {
		_, err = st.Checkpoint(filepath.Join(dir, "snapshot"))
	}
	if err != nil {
		t.Fatal(err)
	}
	return st
}
