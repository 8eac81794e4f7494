package checkpoint_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"taximeter/checkpoint"
	"taximeter/checkpoint/storetest"
)

// found is a store with a genesis by "a" in it, and a chain that has seen it.
func found(t *testing.T) (*storetest.Memory, *checkpoint.Chain, checkpoint.Manifest) {
	t.Helper()
	mem := storetest.NewMemory()
	chain := checkpoint.NewChain(mem, ns)
	won, tip, err := chain.Commit(ctx, checkpoint.Genesis(ns, [3]string{}, make([]checkpoint.Offsets, 1), by("genesis")))
	if !won || err != nil || tip.Number != 1 {
		t.Fatal(won, tip, err)
	}
	return mem, chain, tip
}

func following(tip checkpoint.Manifest, token string) checkpoint.Manifest {
	next, _ := checkpoint.NextCheckpoint(tip, nil, nil, limits, by(token))
	return next
}

func commit(t *testing.T, c *checkpoint.Chain, tip checkpoint.Manifest, n int) checkpoint.Manifest {
	t.Helper()
	for range n {
		won, next, err := c.Commit(ctx, following(tip, fmt.Sprint("t", tip.Number)))
		if !won || err != nil {
			t.Fatal(won, err)
		}
		tip = next
	}
	return tip
}

func TestEmptyNamespaceHasNoChain(t *testing.T) {
	if _, err := checkpoint.NewChain(storetest.NewMemory(), ns).Tip(ctx); !errors.Is(err, checkpoint.ErrNoChain) {
		t.Fatalf("got %v", err)
	}
}

func TestTipIsTheHighestForEveryReader(t *testing.T) {
	mem, writer, tip := found(t)
	follower := checkpoint.NewChain(mem, ns)
	for n := 1; n <= 70; n++ {
		for name, c := range map[string]*checkpoint.Chain{"new": checkpoint.NewChain(mem, ns), "following": follower} {
			if name == "following" && n%7 != 0 {
				continue // it falls behind by seven
			}
			got, err := c.Tip(ctx)
			if err != nil || got.Number != checkpoint.Number(n) {
				t.Fatalf("%s reader: %d, %v, want %d", name, got.Number, err, n)
			}
		}
		tip = commit(t, writer, tip, 1)
	}
}

// A look costs one request while nothing is new, and few when a year of manifests lies there.
func TestTipIsCheap(t *testing.T) {
	mem, writer, first := found(t)
	tip := commit(t, writer, first, 500)
	calls := map[storetest.Op]int{}
	counting := &storetest.Faults{Store: mem, Plan: func(op storetest.Op, _ string) storetest.Fault { calls[op]++; return storetest.None }}
	chain := checkpoint.NewChain(counting, ns)
	if _, err := chain.Tip(ctx); err != nil {
		t.Fatal(err)
	}
	if calls[storetest.OpStat] > 20 || calls[storetest.OpGet] != 1 || calls[storetest.OpList] != 1 {
		t.Errorf("cold: %v", calls)
	}
	clear(calls)
	if _, err := chain.Tip(ctx); err != nil {
		t.Fatal(err)
	}
	if calls[storetest.OpStat] != 1 || len(calls) != 1 {
		t.Errorf("warm: %v", calls)
	}
	for name, from := range map[string]checkpoint.Manifest{"the first": first, "the newest": tip} {
		clear(calls)
		chain := checkpoint.NewChain(counting, ns)
		chain.From(from)
		if got, err := chain.Tip(ctx); err != nil || got.Number != tip.Number {
			t.Errorf("from %s: %d, %v", name, got.Number, err)
		}
		if from.Number == tip.Number && (calls[storetest.OpStat] != 1 || len(calls) != 1) {
			t.Errorf("from the newest: %v", calls)
		}
	}
}

// Somebody's bucket rule expired old manifests: the chain must not seem short, since a put
// into the hole would fork it.
func TestDeletedManifestsDoNotShortenTheChain(t *testing.T) {
	mem, writer, tip := found(t)
	commit(t, writer, tip, 40)
	for _, n := range []checkpoint.Number{1, 2, 8, 33} {
		must(t, mem.Delete(ctx, ns.Manifest(n)))
	}
	got, err := checkpoint.NewChain(mem, ns).Tip(ctx)
	if err != nil || got.Number != 41 {
		t.Fatalf("tip %d, %v", got.Number, err)
	}
	again := checkpoint.NewChain(mem, ns)
	won, tip, err := again.Commit(ctx, checkpoint.Genesis(ns, [3]string{}, make([]checkpoint.Offsets, 1), by("second founder")))
	if err == nil && won && tip.Number == 1 {
		t.Fatal("the chain was founded a second time")
	}
}

func TestOfTwoCommittersOneWinsAndTheOtherLearnsTheTip(t *testing.T) {
	mem, a, tip := found(t)
	b := checkpoint.NewChain(mem, ns)
	_, err := b.Tip(ctx)
	must(t, err)
	won, _, err := a.Commit(ctx, following(tip, "a1"))
	if !won || err != nil {
		t.Fatal(won, err)
	}
	won, got, err := b.Commit(ctx, following(tip, "b1"))
	if won || err != nil || got.Number != 2 || got.Token != "a1" {
		t.Fatalf("won %t, tip %d %q, %v", won, got.Number, got.Token, err)
	}
}

// faultyOnce spoils the first conditional put.
func faultyOnce(mem *storetest.Memory, fault storetest.Fault, delayed *func()) *storetest.Faults {
	spoilt := false
	return &storetest.Faults{Store: mem, Delayed: func(effect func()) { *delayed = effect }, Plan: func(op storetest.Op, _ string) storetest.Fault {
		if op != storetest.OpPutIfAbsent || spoilt {
			return storetest.None
		}
		spoilt = true
		return fault
	}}
}

// The trace: the answer of our put is lost. Taking it for lost, the same seal would be
// committed again.
func TestAfterAnUnclearPutTheChainIsRead(t *testing.T) {
	t.Run("it had landed", func(t *testing.T) {
		mem, _, tip := found(t)
		c := checkpoint.NewChain(faultyOnce(mem, storetest.DropAnswer, nil), ns)
		won, got, err := c.Commit(ctx, following(tip, "ours"))
		if !won || err != nil || got.Token != "ours" {
			t.Fatal(won, got.Token, err)
		}
	})
	t.Run("it had landed and others went on", func(t *testing.T) {
		mem, other, tip := found(t)
		ours := following(tip, "ours")
		commit(t, other, ours, 0)
		if won, _, err := other.Commit(ctx, ours); !won || err != nil {
			t.Fatal(won, err)
		}
		commit(t, other, ours, 2)
		// The adapter's retry is told "exists already"; the tip is another's by now.
		won, got, err := checkpoint.NewChain(mem, ns).Commit(ctx, ours)
		if !won || err != nil || got.Number != 4 {
			t.Fatal(won, got.Number, err)
		}
	})
	t.Run("another's with the same content had landed", func(t *testing.T) {
		mem, other, tip := found(t)
		if won, _, err := other.Commit(ctx, following(tip, "theirs")); !won || err != nil {
			t.Fatal(won, err)
		}
		won, _, err := checkpoint.NewChain(mem, ns).Commit(ctx, following(tip, "ours"))
		if won || err != nil {
			t.Fatal("another's manifest was taken for ours", err)
		}
	})
	t.Run("it had not landed, and lands later", func(t *testing.T) {
		mem, _, tip := found(t)
		var land func()
		c := checkpoint.NewChain(faultyOnce(mem, storetest.Delay, &land), ns)
		won, _, err := c.Commit(ctx, following(tip, "stalled"))
		if won || !errors.Is(err, checkpoint.ErrUnclear) || !errors.Is(err, storetest.ErrInjected) {
			t.Fatal(won, err)
		}
		got, err := c.Tip(ctx)
		if err != nil || got.Number != 1 {
			t.Fatal(got.Number, err)
		}
		if won, _, err := c.Commit(ctx, following(got, "again")); !won || err != nil {
			t.Fatal(won, err)
		}
		land()
		if got, err := checkpoint.NewChain(mem, ns).Tip(ctx); err != nil || got.Token != "again" {
			t.Fatal(got.Token, err)
		}
	})
}

func TestCommitLeavesNoGap(t *testing.T) {
	_, c, tip := found(t)
	if won, _, err := c.Commit(ctx, following(following(tip, "2"), "3")); won || err == nil || !strings.Contains(err.Error(), "gap") {
		t.Fatal(won, err)
	}
}

func TestCommitWithoutTokenIsRefused(t *testing.T) {
	_, c, tip := found(t)
	if won, _, err := c.Commit(ctx, following(tip, "")); won || err == nil {
		t.Fatal("our own manifest could not be told from another's")
	}
}

func TestManifestOfAnotherNamespaceIsNotCommitted(t *testing.T) {
	mem, _, tip := found(t)
	if _, _, err := checkpoint.NewChain(mem, "other").Commit(ctx, following(tip, "x")); err == nil {
		t.Fatal("committed")
	}
}

// Seals lie in the store; any coordinator finds those that may still win.
func TestSealsAreFoundByAnyCoordinator(t *testing.T) {
	mem := storetest.NewMemory()
	tip := chainOf(t)
	s1, s2 := sealOf(tip, 0, 0, 4), sealOf(tip, 1, 0, 5)
	later := sealOf(tip, 0, s1.Number, 6)
	for _, s := range []checkpoint.Seal{s1, s2, later} {
		must(t, checkpoint.Offer(ctx, mem, s))
	}
	c := checkpoint.NewChain(mem, ns)
	seals, err := c.Seals(ctx, tip)
	if err != nil || len(seals) != 3 {
		t.Fatal(seals, err)
	}
	seals, err = c.Seals(ctx, grown(t, tip, s1))
	if err != nil || len(seals) != 2 || seals[0].Number != 2 || seals[1].Partition != 1 {
		t.Fatal(seals, err)
	}
	// A damaged one holds up nobody else.
	must(t, mem.Put(ctx, later.Key(), strings.NewReader("{}")))
	seals, err = c.Seals(ctx, tip)
	var corrupt *checkpoint.CorruptError
	if len(seals) != 2 || !errors.As(err, &corrupt) || corrupt.Key != later.Key() {
		t.Fatal(seals, err)
	}
}

func TestCollectKeepsWhatIsCitedAndStubsOldManifests(t *testing.T) {
	mem, c, tip := found(t)
	tip, err := checkpoint.Assign(tip, limits, by("start"), checkpoint.Start{Partition: 0, Owner: "a", Incarnation: 1})
	must(t, err)
	_, tip, err = c.Commit(ctx, tip)
	must(t, err)
	for n := range 6 {
		s := sealOf(tip, 0, 0, n+1)
		s.Published = tip.Number
		must(t, mem.Put(ctx, s.Files[0].Key, strings.NewReader("x")))
		must(t, mem.Put(ctx, s.Outbox.File.Key, strings.NewReader("x")))
		must(t, checkpoint.Offer(ctx, mem, s))
		_, tip, err = c.Commit(ctx, grown(t, tip, s))
		must(t, err)
	}
	must(t, mem.Put(ctx, ns.Node("a"), strings.NewReader("alive")))
	// The tip is 8, retained are 6, 7 and 8.
	deleted, err := c.Collect(ctx)
	must(t, err)
	if deleted != 12 { // 3 states, 3 outboxes, 6 seals
		t.Errorf("deleted %d", deleted)
	}
	var left []string
	for _, k := range mem.Keys() {
		if !strings.HasPrefix(k, ns.ManifestPrefix()) {
			left = append(left, k)
		}
	}
	if len(left) != 7 {
		t.Errorf("left %v", left)
	}
	fresh := checkpoint.NewChain(mem, ns)
	for n := checkpoint.Number(1); n <= 8; n++ {
		_, err := fresh.Read(ctx, n)
		if n < 6 && !errors.Is(err, checkpoint.ErrRetired) || n >= 6 && err != nil {
			t.Errorf("manifest %d: %v", n, err)
		}
	}
	// A put of number 1 that stalled in the network for years comes to nothing.
	if w, err := mem.PutIfAbsent(ctx, ns.Manifest(1), strings.NewReader("{}")); err != nil || w.Stored {
		t.Fatal(w, err)
	}
	if again, err := c.Collect(ctx); again != 0 || err != nil {
		t.Errorf("a second collection deleted %d, %v", again, err)
	}
}

// A crash while stubs are written leaves no old manifest below a stub.
func TestRetiringGoesOnAfterACrash(t *testing.T) {
	for crashAfter := range 6 {
		mem, c, tip := found(t)
		commit(t, c, tip, 9) // retained: 8, 9, 10
		stubs := 0
		crashing := &storetest.Faults{Store: mem, Plan: func(op storetest.Op, _ string) storetest.Fault {
			if op == storetest.OpPut {
				if stubs++; stubs > crashAfter {
					return storetest.Lost
				}
			}
			return storetest.None
		}}
		if _, err := checkpoint.NewChain(crashing, ns).Collect(ctx); !errors.Is(err, storetest.ErrInjected) {
			t.Fatal(err)
		}
		_, err := checkpoint.NewChain(mem, ns).Collect(ctx)
		must(t, err)
		for n := checkpoint.Number(1); n < 8; n++ {
			if _, err := checkpoint.NewChain(mem, ns).Read(ctx, n); !errors.Is(err, checkpoint.ErrRetired) {
				t.Errorf("crash after %d: manifest %d: %v", crashAfter, n, err)
			}
		}
	}
}

// Two nodes collect at once, one from a newer tip: the slower gives way, and that is no fault.
func TestCollectorThatIsOvertakenGivesWay(t *testing.T) {
	mem, c, tip := found(t)
	tip = commit(t, c, tip, 3) // retained: 2, 3, 4
	overtaken := false
	slow := &storetest.Faults{Store: mem, Plan: func(op storetest.Op, key string) storetest.Fault {
		if op == storetest.OpGet && key == ns.Manifest(2) && !overtaken {
			overtaken = true
			commit(t, c, tip, 3)
			_, err := c.Collect(ctx)
			must(t, err)
		}
		return storetest.None
	}}
	if n, err := checkpoint.NewChain(slow, ns).Collect(ctx); n != 0 || err != nil || !overtaken {
		t.Fatal(n, err, overtaken)
	}
}

func TestReadFileNamesWhatIsDamaged(t *testing.T) {
	mem := storetest.NewMemory()
	f, err := checkpoint.WriteFile(ctx, mem, []byte("content"), func(sha string) string { return "ns/outbox/" + sha })
	must(t, err)
	got, err := checkpoint.ReadFile(ctx, mem, f)
	if string(got) != "content" || err != nil {
		t.Fatal(got, err)
	}
	for bad, detail := range map[string]string{"contend": "checksum", "conten": "6 bytes, 7 were written", "": "0 bytes"} {
		must(t, mem.Put(ctx, f.Key, bytes.NewReader([]byte(bad))))
		var corrupt *checkpoint.CorruptError
		if _, err := checkpoint.ReadFile(ctx, mem, f); !errors.As(err, &corrupt) || corrupt.Key != f.Key || !strings.Contains(corrupt.Detail, detail) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestCancelledContextIsSaid(t *testing.T) {
	_, c, tip := found(t)
	stopped, cancel := context.WithCancel(ctx)
	cancel()
	if won, _, err := c.Commit(stopped, following(tip, "x")); won || !errors.Is(err, context.Canceled) || !errors.Is(err, checkpoint.ErrUnclear) {
		t.Fatal(won, err)
	}
}
