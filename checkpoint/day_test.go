package checkpoint_test

import (
	"strings"
	"testing"

	"taximeter/checkpoint"
	"taximeter/checkpoint/storetest"
)

// A day of checkpoints at the usual interval: what a commit costs and what lies in the store
// is the same at the end as after an hour. (That a round without news makes no manifest is
// the coordinator's: TestARoundWithoutNewsMakesNoManifest.)
func TestADayOfCheckpointsCostsTheSameAtItsEnd(t *testing.T) {
	const perHour, perDay, collectEvery = 120, 2880, 20
	calls := 0
	mem := storetest.NewMemory()
	store := &storetest.Faults{Store: mem, Plan: func(storetest.Op, string) storetest.Fault { calls++; return storetest.None }}
	c := checkpoint.NewChain(store, ns)
	m := chainOf(t)
	for _, first := range []checkpoint.Manifest{checkpoint.Genesis(ns, m.TopicIDs, make([]checkpoint.Offsets, 2), by("g")), m} {
		if won, _, err := c.Commit(ctx, first); err != nil || !won {
			t.Fatal(won, err)
		}
	}
	type cost struct{ calls, objects, manifest int }
	measure := func() (k cost) {
		k.calls = calls
		for info, err := range mem.List(ctx, string(ns)+"/", "") {
			must(t, err)
			if !strings.HasPrefix(info.Key, ns.ManifestPrefix()) {
				k.objects++
			}
		}
		data, err := checkpoint.EncodeManifest(m)
		must(t, err)
		k.manifest = len(data)
		return k
	}
	var hour, day cost
	for n := 1; n <= perDay; n++ {
		s := sealOf(m, 0, 0, n)
		s.Published = m.Number
		for _, f := range []checkpoint.File{s.Files[0], s.Outbox.File} {
			must(t, store.Put(ctx, f.Key, strings.NewReader("x")))
		}
		must(t, checkpoint.Offer(ctx, store, s))
		won, next, err := c.Commit(ctx, grown(t, m, s))
		if err != nil || !won {
			t.Fatal(won, err)
		}
		m = next
		if n%collectEvery == 0 {
			_, err := c.Collect(ctx)
			must(t, err)
		}
		switch n {
		case perHour - collectEvery, perDay - collectEvery:
			calls = 0
		case perHour:
			hour = measure()
		case perDay:
			day = measure()
		}
	}
	// Numbers grow by a digit or two.
	if day.objects > hour.objects+2 || day.manifest > hour.manifest+hour.manifest/10 || day.calls > hour.calls+hour.calls/10 {
		t.Errorf("after an hour %+v, after a day %+v", hour, day)
	}
	t.Logf("twenty checkpoints and a collection: %d calls, %d objects beside the manifests, a manifest of %d bytes", day.calls, day.objects, day.manifest)
}
