package partition_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"taximeter/actors/internal/oracle"
	"taximeter/actors/partition"
	"taximeter/schemas"
)

// run feeds an arrival to a fresh partition, in batches of at most limit records, and
// ends the input.
func run(t rapid.TB, records []schemas.Record, maxKmh float64, limit int) (*partition.Partition, published) {
	t.Helper()
	p := eventFile(maxKmh).fresh(tariffs(), nil, 0)
	for _, b := range batches(records, limit) {
		consume(t, p, b, 0)
	}
	if err := p.EndInput(); err != nil {
		t.Fatal(err)
	}
	out := newPublished()
	out.take(t, p.Seal(1).Outbox)
	mustBalance(t, p)
	return p, out
}

func judge(records []schemas.Record, maxKmh float64) oracle.Finals {
	return oracle.Judge(oracle.Input{Records: records, Tariffs: tariffs(), MaxSpeedKmh: maxKmh})
}

func maxKmh() *rapid.Generator[float64] { return rapid.SampledFrom([]float64{160, 160, 0}) }

// The meter's finals and every verdict are what the contract's batch reading says.
func TestFinalsAreTheContracts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		records, limit := arrivalOf(t), maxKmh().Draw(t, "maxKmh")
		want := judge(records, limit)

		p, got := run(t, records, limit, rapid.IntRange(1, 5).Draw(t, "batch"))
		mustEqual(t, p, got, want)

		var verdicts [schemas.NumVerdicts]int64
		for _, v := range want.Verdicts {
			verdicts[v]++
		}
		if p.Ledger().Verdicts != verdicts {
			t.Errorf("verdicts %v, want %v", p.Ledger().Verdicts, verdicts)
		}
	})
}

// Verdicts one by one: a partition fed record by record says of each what the contract does.
func TestEachRecordHasTheContractsVerdict(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		records := arrivalOf(t)
		want := judge(records, 0).Verdicts
		p := eventFile(0).fresh(tariffs(), nil, 0)
		for i := range records {
			before := p.Ledger().Verdicts
			consume(t, p, records[i:i+1], 0)
			after := p.Ledger().Verdicts
			after[want[i]]--
			if after != before {
				t.Fatalf("record %d %+v: verdicts went from %v to %v, want one more %s", i, records[i], before, p.Ledger().Verdicts, want[i])
			}
		}
	})
}

// Any order, any duplication and any batching of the same events has the same finals.
func TestOrderDuplicationAndBatchingChangeNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events, limit := eventsOf(t), maxKmh().Draw(t, "maxKmh")
		slices.SortStableFunc(events, func(a, b schemas.Event) int { return int(a.At - b.At) })
		want := judge(recordsOf(t, events), limit)
		for range 3 {
			arrival := rapid.Permutation(events).Draw(t, "order")
			for range rapid.IntRange(0, 5).Draw(t, "duplicates") {
				e := rapid.SampledFrom(events).Draw(t, "duplicate")
				arrival = slices.Insert(arrival, rapid.IntRange(0, len(arrival)).Draw(t, "where"), e)
			}
			p, got := run(t, recordsOf(t, arrival), limit, rapid.IntRange(1, 9).Draw(t, "batch"))
			mustEqual(t, p, got, want)
		}
	})
}
