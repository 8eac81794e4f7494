package checkpoint_test

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"testing"

	"taximeter/checkpoint"
)

// runWorld runs one seed and gives what was violated, or "".
func runWorld(seed uint64, broken rule, restores bool) (violation string, sum tally) {
	w := newWorld(seed, broken)
	w.restores = restores
	if broken == manifestsDeleted {
		// A put of number 1 that hangs somewhere in the network from the first day.
		m := checkpoint.Genesis(ns, [3]string{}, []checkpoint.Offsets{{}}, checkpoint.Stamp{By: "a", Token: "stalled"})
		data, err := checkpoint.EncodeManifest(m)
		if err != nil {
			panic(err)
		}
		w.delayed = append(w.delayed, func() { _, _ = watched{w.mem, w}.PutIfAbsent(ctx, ns.Manifest(1), bytes.NewReader(data)) })
	}
	for _, id := range nodes {
		w.boot(id)
	}
	for range 3000 {
		if w.violation != "" {
			break
		}
		w.step()
		if w.rng.IntN(250) == 0 {
			w.crash(nodes[w.rng.IntN(len(nodes))])
		}
	}
	if w.violation == "" {
		w.finish()
	}
	for _, id := range nodes {
		w.end(id)
	}
	return w.violation, tally{manifests: int(w.highest.Number), lineages: int(w.highest.Lineage), runs: w.runs, published: len(w.kafka.published)}
}

// tally says how much happened, so that a simulation in which nothing does is noticed.
type tally struct{ manifests, lineages, runs, published int }

// seeds is how many runs a test makes; TAXIMETER_SIM_SEEDS asks for more.
func seeds(t *testing.T, usual int) uint64 {
	if n, err := strconv.Atoi(os.Getenv("TAXIMETER_SIM_SEEDS")); err == nil {
		return uint64(n)
	}
	if testing.Short() {
		return uint64(usual) / 4
	}
	return uint64(usual)
}

func TestSimulation(t *testing.T) {
	for _, restores := range []bool{false, true} {
		t.Run(fmt.Sprintf("restores=%t", restores), func(t *testing.T) {
			var all tally
			n := seeds(t, 24)
			for seed := range n {
				v, sum := runWorld(seed, everyRule, restores)
				if v != "" {
					t.Fatalf("seed %d: %s", seed, v)
				}
				all = tally{all.manifests + sum.manifests, all.lineages + sum.lineages, all.runs + sum.runs, all.published + sum.published}
			}
			t.Logf("%d worlds: %+v", n, all)
			if k := int(n); all.manifests < 15*k || all.runs < 3*k || all.published < 10*k || restores && all.lineages < 2*k {
				t.Errorf("too little happened")
			}
		})
	}
}

// telling seeds save time: the rare traces show in them first. Any other would do.
var telling = map[rule]uint64{markerBeforeFence: 96, manifestsDeleted: 35, restoreFromAny: 20, noNewIncarnation: 17, noEpochCheck: 11}

// Each rule left out is caught by the simulation: none is there for nothing, and the
// simulation can fail.
func TestSimulationCatchesEveryMissingRule(t *testing.T) {
	for _, r := range []rule{noBaseCheck, noEpochCheck, notCumulative, noNewIncarnation, markerBeforeFence,
		onlyNewestOutbox, markerIsManifest, prunedTooEarly, noOrderWhileUnsure, manifestsDeleted, collectsNewFiles,
		pendingNotCited, onlyTipCites, restoreFromAny} {
		t.Run(string(r), func(t *testing.T) {
			for i := range uint64(400) {
				seed := telling[r] + i
				if v, _ := runWorld(seed, r, r == restoreFromAny); v != "" {
					t.Logf("seed %d: %.300s", seed, v)
					return
				}
			}
			t.Fatal("no run noticed that the rule is missing")
		})
	}
}
