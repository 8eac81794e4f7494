package node

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"taximeter/checkpoint"
	"taximeter/checkpoint/pebblestore"
	"taximeter/checkpoint/storetest"
	"taximeter/cluster"
	"taximeter/schemas"
)

// warmNode is a node of which only the standby works, and a tip of partitions that another
// runs, each with a state of its own.
func warmNode(t *testing.T, partitions int) (*Node, *pebblestore.Shared, checkpoint.Manifest) {
	t.Helper()
	shared := pebblestore.NewShared(pebblestore.Default(), slog.New(slog.DiscardHandler))
	t.Cleanup(shared.Close)
	n := &Node{cfg: Default(), log: slog.New(slog.DiscardHandler), ns: "ns", store: storetest.NewMemory(), shared: shared}
	n.cfg.NodeID, n.cfg.Data = "b", t.TempDir()
	n.ctx, n.cancel = context.WithCancel(t.Context())
	t.Cleanup(n.cancel)
	n.crew = &crew{slots: make(chan struct{}, startsAtOnce), pulse: newPulse(n, func(cluster.Duty) {}, time.Now)}
	n.standby = newStandby(n)
	tip := checkpoint.Genesis("ns", [schemas.NumInputs]string{}, make([]checkpoint.Offsets, partitions), checkpoint.Stamp{By: "a", Token: "t"})
	for p := range tip.Entries {
		tip.Entries[p].Owner, tip.Entries[p].Epoch = "a", 1
		tip = sealed(t, n, tip, p, "first")
	}
	return n, shared, tip
}

// sealed is tip with a new cut of the partition.
func sealed(t *testing.T, n *Node, tip checkpoint.Manifest, p int, value string) checkpoint.Manifest {
	t.Helper()
	tip.Number++
	entries := append([]checkpoint.Entry(nil), tip.Entries...)
	e := &entries[p]
	dir := t.TempDir()
	st, err := pebblestore.Open(filepath.Join(dir, "state"), n.shared)
	if err != nil {
		t.Fatal(err)
	}
	b := st.NewBatch()
	b.Put([]byte("t/a"), []byte(value))
	if err := st.Apply(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	snapshot, err := st.Checkpoint(filepath.Join(dir, "snapshot"))
	if err != nil {
		t.Fatal(err)
	}
	e.Seal++
	e.Made = tip.Number
	up, err := snapshot.Upload(t.Context(), n.store, "ns", checkpoint.Place{Partition: schemas.Partition(p), Epoch: e.Epoch, Seal: e.Seal}, nil)
	if err = errors.Join(err, st.Close()); err != nil {
		t.Fatal(err)
	}
	e.Files = up.Files
	tip.Entries = entries
	return tip
}

func follow(t *testing.T, n *Node) (rounds int) {
	t.Helper()
	for n.standby.followOne(t.Context()) {
		rounds++
	}
	return rounds
}

func value(t *testing.T, n *Node, e checkpoint.Entry, folders []pebblestore.Folder, store checkpoint.Store) string {
	t.Helper()
	st, err := pebblestore.Restore(t.Context(), store, e.Files, filepath.Join(t.TempDir(), "run"), n.shared, folders...)
	if err != nil {
		t.Fatal(err)
	}
	v, _, err := st.Get([]byte("t/a"))
	if err = errors.Join(err, st.Close()); err != nil {
		t.Fatal(err)
	}
	return string(v)
}

var nobody = make([]checkpoint.NodeID, 8)

func TestAStandbyFollowsEachCutAndARunStartsFromIt(t *testing.T) {
	n, _, tip := warmNode(t, 2)
	n.standby.wants(tip, []schemas.Partition{1}, nobody)
	if rounds := follow(t, n); rounds != 1 {
		t.Fatalf("%d rounds for one copy", rounds)
	}
	tip = sealed(t, n, tip, 1, "second")
	n.standby.wants(tip, []schemas.Partition{1}, nobody)
	if behind, _ := n.standby.freshness(); behind[1] <= 0 {
		t.Error("a copy of the cut before counts as the newest")
	}
	if rounds := follow(t, n); rounds != 1 {
		t.Fatalf("%d rounds for one new cut", rounds)
	}
	if held := n.standby.report(); len(held) != 1 || held[1] != tip.Entries[1].Made {
		t.Errorf("it reports %v, the newest cut is %d", held, tip.Entries[1].Made)
	}
	if behind, bytes := n.standby.freshness(); behind[1] != 0 || bytes != sizeOf(tip.Entries[1].Files) {
		t.Errorf("behind %v, %d bytes", behind, bytes)
	}
	if got := value(t, n, tip.Entries[1], n.standby.take(1), storetest.NewMemory()); got != "second" { // an empty store
		t.Errorf("the run found %q", got)
	}
	// What runs here is followed by nobody.
	tip = sealed(t, n, tip, 1, "third")
	n.standby.wants(tip, []schemas.Partition{1}, nobody)
	if rounds := follow(t, n); rounds != 0 || len(n.standby.report()) != 0 {
		t.Errorf("%d rounds beside the run", rounds)
	}
	n.standby.give(1)
	if rounds := follow(t, n); rounds != 1 {
		t.Errorf("%d rounds after the run", rounds)
	}
}

func TestStartsComeBeforeCopies(t *testing.T) {
	n, _, tip := warmNode(t, 1)
	n.standby.wants(tip, []schemas.Partition{0}, nobody)
	n.crew.slots <- struct{}{}
	if rounds := follow(t, n); rounds != 0 {
		t.Error("a copy was made while a run was started")
	}
	<-n.crew.slots
	if rounds := follow(t, n); rounds != 1 {
		t.Error("no copy was made afterwards")
	}
}

// stuck is a store whose state of partitions comes only when asked no more.
type stuck struct {
	checkpoint.Store
	asked chan struct{}
}

func (s stuck) Get(ctx context.Context, key string) (checkpoint.Object, error) {
	if strings.Contains(key, "/part/") {
		select {
		case s.asked <- struct{}{}:
		default:
		}
		<-ctx.Done()
		return checkpoint.Object{}, ctx.Err()
	}
	return s.Store.Get(ctx, key)
}

func TestACopyUnderWayEndsWhenAStartBegins(t *testing.T) {
	n, _, tip := warmNode(t, 1)
	whole := n.store
	slow := stuck{whole, make(chan struct{}, 1)}
	n.store = slow
	n.standby.wants(tip, []schemas.Partition{0}, nobody)
	ended := make(chan bool)
	go func() { ended <- n.standby.followOne(n.ctx) }()
	<-slow.asked
	n.crew.slots <- struct{}{}
	n.standby.makeWay()
	select {
	case done := <-ended:
		if done {
			t.Error("it calls the copy whole")
		}
	case <-time.After(10 * time.Second):
		t.Fatal("it goes on beside the start")
	}
	<-n.crew.slots
	n.store = whole
	if rounds := follow(t, n); rounds != 1 {
		t.Errorf("%d rounds after the start", rounds)
	}
}

// A planned move waits for a copy of the tables that a compaction has just written, and for
// none when only the small rest is new.
func TestWhatACopyLacksIsCounted(t *testing.T) {
	n, _, tip := warmNode(t, 1)
	n.crew.node, n.crew.chain = n, checkpoint.NewChain(n.store, n.ns)
	w := wait{to: n.id()}
	lacking := func() int64 {
		n.crew.pulse.read(t.Context(), w.to)
		return n.crew.lacking(t.Context(), tip.Entries[0], 0, &w)
	}
	all := sizeOf(tip.Entries[0].Files)
	if got := lacking(); got != all {
		t.Errorf("a node that never beat lacks %d of %d bytes", got, all)
	}
	kept(t, n, tip)
	n.standby.wants(tip, []schemas.Partition{0}, nobody)
	follow(t, n)
	if err := cluster.PutHeartbeat(t.Context(), n.store, n.ns, n.id(), cluster.Heartbeat{Beat: 1, Copies: n.standby.report()}); err != nil {
		t.Fatal(err)
	}
	if got := lacking(); got != 0 {
		t.Errorf("the newest copy lacks %d bytes", got)
	}
	before := tip.Entries[0].Files
	tip = sealed(t, n, tip, 0, "all tables written anew")
	if got, all := lacking(), sizeOf(tip.Entries[0].Files); got != all {
		t.Errorf("a copy of before the compaction lacks %d of %d bytes", got, all)
	}
	fresh := tip.Entries[0].Files[0]
	tip.Entries[0].Files = append(before[1:len(before):len(before)], fresh)
	if got := lacking(); got != fresh.Size {
		t.Errorf("a copy that lacks one file of %d bytes lacks %d", fresh.Size, got)
	}
}

// kept puts a manifest where its number belongs.
func kept(t *testing.T, n *Node, m checkpoint.Manifest) {
	t.Helper()
	content, err := checkpoint.EncodeManifest(m)
	if err == nil {
		err = n.store.Put(t.Context(), n.ns.Manifest(m.Number), bytes.NewReader(content))
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestCopiesKeepWithinTheirRoomButWhatComesHereIsAlwaysCopied(t *testing.T) {
	n, _, tip := warmNode(t, 3)
	n.standby.budget = sizeOf(tip.Entries[0].Files) * 3 / 2
	want := []schemas.Partition{0, 1, 2}
	n.standby.wants(tip, want, nobody)
	if rounds := follow(t, n); rounds != 1 {
		t.Errorf("%d copies in the room of one and a half", rounds)
	}
	n.standby.wants(tip, want, []checkpoint.NodeID{"a", "a", "b"})
	if held := func() cluster.Copies { follow(t, n); return n.standby.report() }(); held[2] == 0 || held[1] != 0 {
		t.Errorf("partition 2 is to come here; held are %v", held)
	}
	select {
	case <-n.crew.pulse.wake:
	default:
		t.Error("nobody is told that the awaited copy is there")
	}
}

func TestFoldersThatNobodyWantsGo(t *testing.T) {
	n, _, tip := warmNode(t, 2)
	n.standby.wants(tip, []schemas.Partition{0, 1}, nobody)
	follow(t, n)
	n.standby.wants(tip, []schemas.Partition{0}, nobody)
	n.standby.clear()
	n.standby.left[1] = time.Now().Add(-2 * keepUnwanted) // the only clock here
	n.standby.abandon()
	aside := filepath.Join(n.cfg.Data, asideFolder)
	if left, err := os.ReadDir(aside); err != nil || len(left) != 1 {
		t.Errorf("set aside is %v, %v", left, err)
	}
	n.standby.clear()
	for _, dir := range []string{n.home(1), aside} {
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("folder %s is still there: %v", dir, err)
		}
	}
	if held := n.standby.report(); len(held) != 1 || held[0] == 0 {
		t.Errorf("it reports %v", held)
	}
	if _, err := os.Stat(n.home(0)); err != nil {
		t.Error(err)
	}
}

func TestAHeartbeatSaysWhatANodeHolds(t *testing.T) {
	n, _, tip := warmNode(t, 2)
	n.standby.wants(tip, []schemas.Partition{1}, nobody)
	follow(t, n)
	for beat := range int64(2) {
		if err := cluster.PutHeartbeat(t.Context(), n.store, n.ns, n.id(), cluster.Heartbeat{Beat: beat, Copies: n.standby.report()}); err != nil {
			t.Fatal(err)
		}
		mark, h, err := cluster.ReadHeartbeat(t.Context(), n.store, n.ns, "b")
		if err != nil || h.Copies[1] != tip.Entries[1].Made || mark == "" {
			t.Errorf("%q holds %v, %v", mark, h, err)
		}
	}
	if _, _, err := cluster.ReadHeartbeat(t.Context(), n.store, n.ns, "c"); !errors.Is(err, checkpoint.ErrNotFound) {
		t.Errorf("nobody's heartbeat: %v", err)
	}
}
