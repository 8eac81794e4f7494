package coordinator

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"taximeter/checkpoint"
	"taximeter/checkpoint/storetest"
	"taximeter/schemas"
)

const (
	ns      = checkpoint.Namespace("ns")
	patient = 10 * time.Second
)

var limits = checkpoint.Limits{Retain: 5, MaxPending: 5}

// process is one coordinator over a store that others may share.
type process struct {
	t      *testing.T
	system *actor.ActorSystem
	pid    *actor.PID
	chain  *checkpoint.Chain // of the test, beside the coordinator's
}

func begin(t *testing.T, store checkpoint.Store, node string, seen ...*atomic.Pointer[checkpoint.Manifest]) *process {
	t.Helper()
	p := &process{t: t, chain: checkpoint.NewChain(store, ns),
		system: actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return slog.New(slog.DiscardHandler) }))}
	tokens := 0
	var status atomic.Pointer[Status]
	o := Options{Chain: checkpoint.NewChain(store, ns), Node: checkpoint.NodeID(node), Limits: limits,
		Interval: time.Hour, Deadline: patient, Now: func() schemas.Millis { return 1 },
		Token: func() string { tokens++; return node + strconv.Itoa(tokens) }, Log: slog.New(slog.DiscardHandler)}
	for _, s := range seen {
		o.Seen = s.Load
	}
	p.pid = p.system.Root.Spawn(New(o, &status))
	t.Cleanup(func() {
		if err := p.system.Root.StopFuture(p.pid).Wait(); err != nil {
			t.Error(err)
		}
		p.system.Shutdown()
	})
	return p
}

func found(t *testing.T, store checkpoint.Store, partitions int) {
	t.Helper()
	genesis := checkpoint.Genesis(ns, [schemas.NumInputs]string{"a", "b", "c"}, make([]checkpoint.Offsets, partitions), checkpoint.Stamp{At: 1, By: "a", Token: "g"})
	if won, _, err := checkpoint.NewChain(store, ns).Commit(t.Context(), genesis); err != nil || !won {
		t.Fatalf("won %t, %v", won, err)
	}
}

func (p *process) tip() checkpoint.Manifest {
	p.t.Helper()
	tip, err := p.chain.Tip(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	return tip
}

func (p *process) ask(m any) (any, error) {
	p.t.Helper()
	answer, err := p.system.Root.RequestFuture(p.pid, m, patient).Result()
	if err != nil {
		p.t.Fatal(err)
	}
	if failed, ok := answer.(error); ok {
		return nil, failed
	}
	return answer, nil
}

func start(p schemas.Partition, i checkpoint.Incarnation) []checkpoint.Change {
	return []checkpoint.Change{checkpoint.Join{Node: "a"}, checkpoint.Start{Partition: p, Owner: "a", Incarnation: i}}
}

// A process that slept between looking and assigning must not take back what another has
// taken meanwhile: both would then revoke each other.
func TestAnAssignmentDecidedOnAnOlderTipIsRefused(t *testing.T) {
	store := storetest.NewMemory()
	found(t, store, 2)
	sleeper, other := begin(t, store, "a"), begin(t, store, "a")
	seen := sleeper.tip()
	if _, err := other.ask(&Assign{Seen: other.tip(), Changes: start(0, 200)}); err != nil {
		t.Fatal(err)
	}
	if _, err := sleeper.ask(&Assign{Seen: seen, Changes: start(0, 100)}); !errors.Is(err, ErrDecidedAnew) {
		t.Errorf("got %v", err)
	}
	if e := sleeper.tip().Entries[0]; e.Epoch != 1 || e.Incarnation != 200 {
		t.Errorf("the chain holds epoch %d of run %d", e.Epoch, e.Incarnation)
	}
	if _, err := sleeper.ask(&Assign{Seen: sleeper.tip(), Changes: start(1, 101)}); err != nil {
		t.Errorf("having looked again: %v", err)
	}
}

// A member that left and came back may be of an older version, though the members are the
// same; and who decided to join under one protocol may not speak the next. Either would be
// a member that cannot read what is written.
func TestAProtocolIsRaisedOnTheTipItWasDecidedOn(t *testing.T) {
	store := storetest.NewMemory()
	found(t, store, 1)
	sleeper, other := begin(t, store, "a"), begin(t, store, "a")
	does := func(p *process, changes ...checkpoint.Change) {
		t.Helper()
		if _, err := p.ask(&Assign{Seen: p.tip(), Changes: changes}); err != nil {
			t.Fatal(err)
		}
	}
	does(other, checkpoint.Join{Node: "a"}, checkpoint.Join{Node: "b"})
	seen := sleeper.tip()
	does(other, checkpoint.Leave{Node: "b"})
	does(other, checkpoint.Join{Node: "b"})
	raise := []checkpoint.Change{checkpoint.Speak{Protocol: checkpoint.Protocol2}}
	if _, err := sleeper.ask(&Assign{Seen: seen, Changes: raise}); !errors.Is(err, ErrDecidedAnew) {
		t.Errorf("raised after b came back: %v", err)
	}
	seen = sleeper.tip()
	does(other, raise...)
	if _, err := sleeper.ask(&Assign{Seen: seen, Changes: []checkpoint.Change{checkpoint.Join{Node: "c"}}}); !errors.Is(err, ErrDecidedAnew) {
		t.Errorf("joined under a protocol that it had not seen: %v", err)
	}
}

// task is a partition's run as a coordinator sees it.
type task struct {
	Task
	incarnation checkpoint.Incarnation
	seal        func(tip checkpoint.Manifest, last checkpoint.SealNumber) (*checkpoint.Seal, error)
	revoked     atomic.Int64
	spilled     atomic.Int64
}

func (t *task) Partition() schemas.Partition        { return 0 }
func (t *task) Incarnation() checkpoint.Incarnation { return t.incarnation }
func (t *task) Published() checkpoint.Number        { return 0 }
func (t *task) Committed(checkpoint.Entry)          {}
func (t *task) Revoked()                            { t.revoked.Add(1) }
func (t *task) Spill(context.Context, checkpoint.Manifest, checkpoint.SealNumber) error {
	t.spilled.Add(1)
	return nil
}

// A run that the chain no longer holds is told so in the next round, though it has nothing
// to send and meets no fence.
func TestARunThatTheChainDoesNotHoldIsRevoked(t *testing.T) {
	store := storetest.NewMemory()
	found(t, store, 1)
	p := begin(t, store, "a")
	if _, err := p.ask(&Assign{Seen: p.tip(), Changes: start(0, 200)}); err != nil {
		t.Fatal(err)
	}
	stale := &task{incarnation: 100}
	p.system.Root.Send(p.pid, &Attach{Task: stale})
	if _, err := p.ask(&Round{}); err != nil {
		t.Fatal(err)
	}
	if stale.revoked.Load() != 1 {
		t.Errorf("told %d times", stale.revoked.Load())
	}
}

func (t *task) Seal(_ context.Context, tip checkpoint.Manifest, last checkpoint.SealNumber) (*checkpoint.Seal, error) {
	return t.seal(tip, last)
}

// Whoever waits for all to be committed must hear of a partition that was not cut, for
// whatever reason.
func TestAPartitionThatWasNotCutIsAbsent(t *testing.T) {
	for name, seal := range map[string]func(checkpoint.Manifest, checkpoint.SealNumber) (*checkpoint.Seal, error){
		"the seal fails": func(checkpoint.Manifest, checkpoint.SealNumber) (*checkpoint.Seal, error) {
			return nil, errors.New("the store is down")
		},
		"the seal is refused": func(tip checkpoint.Manifest, last checkpoint.SealNumber) (*checkpoint.Seal, error) {
			s := checkpoint.NewSeal(tip, 0, last)
			s.Base.Made = 99
			return &s, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			store := storetest.NewMemory()
			found(t, store, 1)
			p := begin(t, store, "a")
			if _, err := p.ask(&Assign{Seen: p.tip(), Changes: start(0, 100)}); err != nil {
				t.Fatal(err)
			}
			p.system.Root.Send(p.pid, &Attach{Task: &task{incarnation: 100, seal: seal}})
			answer, err := p.ask(&Round{})
			if out, ok := answer.(Outcome); err != nil || !ok || len(out.Absent) != 1 || out.Absent[0] != 0 {
				t.Errorf("%+v, %v", answer, err)
			}
		})
	}
}

// While nothing can be committed, what was changed must be able to leave memory: a store
// that is down for hours would else take the node with it.
func TestTasksSpillWhileNothingCanBeCommitted(t *testing.T) {
	var dark atomic.Bool
	memory := storetest.NewMemory()
	store := &storetest.Faults{Store: memory, Plan: func(storetest.Op, string) storetest.Fault {
		if dark.Load() {
			return storetest.Lost
		}
		return storetest.None
	}}
	found(t, memory, 1)
	p := begin(t, store, "a")
	if _, err := p.ask(&Assign{Seen: p.tip(), Changes: start(0, 100)}); err != nil {
		t.Fatal(err)
	}
	run := &task{incarnation: 100, seal: func(tip checkpoint.Manifest, last checkpoint.SealNumber) (*checkpoint.Seal, error) {
		s := checkpoint.NewSeal(tip, 0, last)
		s.Outbox.File = checkpoint.File{Name: "outbox", Key: ns.Outbox(s.Place(), sum), Size: 1, SHA256: sum}
		return &s, nil
	}}
	p.system.Root.Send(p.pid, &Attach{Task: run})
	t.Run("the store is down", func(t *testing.T) {
		dark.Store(true)
		if _, err := p.ask(&Round{}); !errors.Is(err, storetest.ErrInjected) || run.spilled.Load() != 1 {
			t.Errorf("%v, spilled %d times", err, run.spilled.Load())
		}
		dark.Store(false)
	})
	t.Run("too many outboxes wait", func(t *testing.T) {
		for range limits.MaxPending {
			if _, err := p.ask(&Round{}); err != nil {
				t.Fatal(err)
			}
		}
		if n := len(p.tip().Entries[0].Pending); n != limits.MaxPending || run.spilled.Load() != 1 {
			t.Fatalf("%d outboxes wait, spilled %d times", n, run.spilled.Load())
		}
		if answer, err := p.ask(&Round{}); err != nil || len(answer.(Outcome).Absent) != 1 || run.spilled.Load() != 2 {
			t.Errorf("%+v, %v, spilled %d times", answer, err, run.spilled.Load())
		}
	})
}

const sum = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// Short intervals must not fill the chain: a round in which nothing happened leaves no trace.
func TestARoundWithoutNewsMakesNoManifest(t *testing.T) {
	store := storetest.NewMemory()
	found(t, store, 1)
	p := begin(t, store, "a")
	if _, err := p.ask(&Assign{Seen: p.tip(), Changes: start(0, 100)}); err != nil {
		t.Fatal(err)
	}
	p.system.Root.Send(p.pid, &Attach{Task: &task{incarnation: 100, seal: func(checkpoint.Manifest, checkpoint.SealNumber) (*checkpoint.Seal, error) { return nil, nil }}})
	before := p.tip().Number
	for range 3 {
		if answer, err := p.ask(&Round{}); err != nil || !answer.(Outcome).Quiet {
			t.Fatalf("%+v, %v", answer, err)
		}
	}
	if now := p.tip().Number; now != before {
		t.Errorf("manifest %d became %d", before, now)
	}
}

// A partition stands still until its move is in the chain, so a put that was lost to another
// partition's must not cost it another seal.
func TestAMoveSealsOnce(t *testing.T) {
	store := storetest.NewMemory()
	found(t, store, 2)
	mover, other := begin(t, store, "a"), begin(t, store, "a")
	if _, err := mover.ask(&Assign{Seen: mover.tip(), Changes: append(start(0, 100), checkpoint.Join{Node: "b"})}); err != nil {
		t.Fatal(err)
	}
	seals, quiet := 0, 0
	run := &task{incarnation: 100, seal: func(tip checkpoint.Manifest, last checkpoint.SealNumber) (*checkpoint.Seal, error) {
		seals++
		s := checkpoint.NewSeal(tip, 0, last)
		begin := checkpoint.Start{Partition: 1, Owner: "a", Incarnation: checkpoint.Incarnation(200 + seals)}
		if _, err := other.ask(&Assign{Seen: other.tip(), Changes: []checkpoint.Change{begin}}); err != nil { // is faster
			return nil, err
		}
		return &s, nil
	}}
	answer, err := mover.ask(&Move{Task: run, To: "b", Quiesce: func() error { quiet++; return nil },
		Incarnation: func(e checkpoint.Epoch) checkpoint.Incarnation { return 300 + checkpoint.Incarnation(e) }})
	if err != nil {
		t.Fatal(err)
	}
	e := mover.tip().Entries[0]
	if moved := answer.(Moved); e.Owner != "b" || e.Incarnation != 302 || e.Seal != 1 || moved.Tip.Number != mover.tip().Number {
		t.Errorf("the chain holds %+v, the answer is %+v", e, moved)
	}
	if seals != 1 || quiet != 1 {
		t.Errorf("sealed %d times, input ended %d times", seals, quiet)
	}
}

// With hundreds of files a partition a manifest is large: it is read once in a process, and never
// while a partition stands still.
func TestWhatOthersHaveReadIsNotReadAgain(t *testing.T) {
	memory := storetest.NewMemory()
	found(t, memory, 1)
	gets := 0
	store := &storetest.Faults{Store: memory, Plan: func(op storetest.Op, _ string) storetest.Fault {
		if op == storetest.OpGet {
			gets++
		}
		return storetest.None
	}}
	var seen atomic.Pointer[checkpoint.Manifest]
	p, other := begin(t, store, "a", &seen), begin(t, memory, "a")
	if _, err := other.ask(&Assign{Seen: other.tip(), Changes: append(start(0, 100), checkpoint.Join{Node: "b"})}); err != nil {
		t.Fatal(err)
	}
	tip := other.tip()
	seen.Store(&tip)
	run := &task{incarnation: 100, seal: func(tip checkpoint.Manifest, last checkpoint.SealNumber) (*checkpoint.Seal, error) { return nil, nil }}
	move := &Move{Task: run, To: "b", Incarnation: func(checkpoint.Epoch) checkpoint.Incarnation { return 300 },
		Quiesce: func() error { gets = 0; return nil }}
	for _, known := range []*checkpoint.Manifest{&tip, nil} {
		seen.Store(known)
		if _, err := p.ask(move); err != nil || gets != 0 {
			t.Errorf("%d manifests were read while the partition stood still, %v", gets, err)
		}
		if known == nil {
			break
		}
		// The next is of another coordinator, and comes back.
		if _, err := other.ask(&Assign{Seen: other.tip(), Changes: []checkpoint.Change{checkpoint.Start{Partition: 0, Owner: "a", Incarnation: 100}}}); err != nil {
			t.Fatal(err)
		}
	}
}
