package checkpoint_test

import (
	"bytes"
	"errors"
	"testing"

	"taximeter/checkpoint"
	"taximeter/checkpoint/storetest"
	"taximeter/schemas"
)

// chainWithDamage is a chain of five manifests whose last ones have a flipped bit.
func chainWithDamage(t *testing.T, damaged int) (checkpoint.Store, []checkpoint.Manifest) {
	t.Helper()
	store := storetest.NewMemory()
	c := checkpoint.NewChain(store, ns)
	first := checkpoint.Genesis(ns, [schemas.NumInputs]string{"t1", "t2", "t3"}, make([]checkpoint.Offsets, 2), by("g"))
	m2 := chainOf(t)
	m3 := grown(t, m2, sealOf(m2, 0, 0, 4))
	m4 := grown(t, m3, sealOf(m3, 0, 0, 7))
	m5 := grown(t, m4, sealOf(m4, 1, 0, 9))
	all := []checkpoint.Manifest{first, m2, m3, m4, m5}
	for _, m := range all {
		if won, _, err := c.Commit(ctx, m); err != nil || !won {
			t.Fatalf("manifest %d: %t, %v", m.Number, won, err)
		}
	}
	for _, m := range all[len(all)-damaged:] {
		data, err := checkpoint.ReadAll(ctx, store, ns.Manifest(m.Number))
		must(t, err)
		data[len(data)/2] ^= 1
		must(t, store.Put(ctx, ns.Manifest(m.Number), bytes.NewReader(data)))
	}
	return store, all
}

// Damaged tips are passed over by a restore alone: all that they can have said is revoked.
func TestADamagedTipIsPassedOver(t *testing.T) {
	for damaged := 1; damaged <= 2; damaged++ {
		store, all := chainWithDamage(t, damaged)
		whole, tip := all[len(all)-1-damaged], all[len(all)-1]
		var corrupt *checkpoint.CorruptError
		c := checkpoint.NewChain(store, ns)
		if _, err := c.Tip(ctx); !errors.As(err, &corrupt) || corrupt.Key != ns.Manifest(tip.Number) {
			t.Fatalf("the damage is not named: %v", err)
		}
		stand, err := c.PassOver(ctx, []checkpoint.Offsets{offsets(20), offsets(2)}, 99)
		must(t, err)
		back, err := checkpoint.Restore(stand, whole, limits, by("x"))
		must(t, err)
		if won, _, err := c.Commit(ctx, back); err != nil || !won {
			t.Fatal(won, err)
		}
		if now, err := checkpoint.NewChain(store, ns).Tip(ctx); err != nil || now.Number != tip.Number+1 || now.Token != "x" {
			t.Fatalf("others see %+v, %v", now, err)
		}
		e := back.Entries[0]
		if e.Epoch <= whole.Entries[0].Epoch+checkpoint.Epoch(damaged) || e.Next != whole.Entries[0].Next {
			t.Errorf("%d damaged: epoch %d at %v after epoch %d", damaged, e.Epoch, e.Next, whole.Entries[0].Epoch)
		}
		if a := e.Abandoned; !a.Holds(tip.Number) || a.Holds(whole.Number) || a.Next != offsets(20) || a.Watermark != 99 {
			t.Errorf("%d damaged: left behind is %+v", damaged, a)
		}
		if len(back.Restores) != 1 || back.Restores[0] != (checkpoint.Span{After: whole.Number, Through: tip.Number}) {
			t.Errorf("sinks are told %v", back.Restores)
		}
		// A run that knew the damaged tip offers in vain.
		if _, rejected := checkpoint.NextCheckpoint(back, []checkpoint.Seal{sealOf(tip, 1, 0, 12)}, nil, limits, by("y")); len(rejected) != 1 {
			t.Error("a seal that grew from the damaged manifest was taken")
		}
	}
}

// passedOverAndGoneOn is a chain whose damaged tip c passes over, to stand, and on which a node that
// knows the tip then makes a manifest.
func passedOverAndGoneOn(t *testing.T) (store checkpoint.Store, all []checkpoint.Manifest, c *checkpoint.Chain, stand checkpoint.Manifest) {
	t.Helper()
	store, all = chainWithDamage(t, 1)
	c = checkpoint.NewChain(store, ns)
	stand, err := c.PassOver(ctx, make([]checkpoint.Offsets, 2), 99)
	must(t, err)
	m5 := all[4]
	data, err := checkpoint.EncodeManifest(grown(t, m5, sealOf(m5, 1, 0, 12)))
	must(t, err)
	_, err = store.PutIfAbsent(ctx, ns.Manifest(6), bytes.NewReader(data))
	must(t, err)
	return store, all, c, stand
}

// A node that knows the damaged tip may go on from it; then there is nothing to repair.
func TestPassingOverIsLostToANodeThatKnowsTheTip(t *testing.T) {
	store, all, c, stand := passedOverAndGoneOn(t)
	back, err := checkpoint.Restore(stand, all[3], limits, by("x"))
	must(t, err)
	if won, tip, err := c.Commit(ctx, back); err != nil || won || tip.Number != 6 {
		t.Errorf("won %t, tip %d, %v", won, tip.Number, err)
	}
	if _, err := checkpoint.NewChain(store, ns).PassOver(ctx, make([]checkpoint.Offsets, 2), 99); err == nil {
		t.Error("a whole tip was passed over")
	}
}

// An operator's word for a damaged tip holds no more once a node that knows it has gone on: the
// chain is whole again, and nobody has agreed to take it back from there.
func TestPassingOverIsNotDoneAnewOnWhatANodeMade(t *testing.T) {
	store, all, c, _ := passedOverAndGoneOn(t)
	m, err := c.Operate(ctx, audit(), func(tip checkpoint.Manifest, by checkpoint.Stamp) (checkpoint.Manifest, error) {
		return checkpoint.Restore(tip, all[3], limits, by)
	})
	if err == nil || m.Number != 0 {
		t.Errorf("manifest %d, %v", m.Number, err)
	}
	if tip, err := checkpoint.NewChain(store, ns).Tip(ctx); err != nil || tip.Number != 6 {
		t.Errorf("tip %d, %v", tip.Number, err)
	}
}
