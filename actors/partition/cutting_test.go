package partition_test

import (
	"bytes"
	"maps"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"taximeter/actors/partition"
	"taximeter/schemas"
)

// A seal that is written behind its cut, while events and time go on, holds what it would have
// held if it had been written at once.
func TestASealWrittenBehindItsCutIsTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := setups(t)
		tell := partition.Tell{Verdicts: rapid.Bool().Draw(t, "verdicts"), Trips: rapid.Bool().Draw(t, "trips")}
		whole, behind := memStore{}, memStore{}
		now, known, number := t0, rapid.IntRange(0, len(tariffs())).Draw(t, "tariffs"), int64(0)
		p, q := s.fresh(tariffs()[:known], whole, now), s.fresh(tariffs()[:known], behind, now)
		var want *partition.Sealed // by p at once, of what q writes now; nil = nothing
		write := func(n int) {
			t.Helper()
			if want == nil {
				return
			}
			got, done := q.Write(n)
			if !done {
				return
			}
			behind.apply(got.Changes)
			if !maps.EqualFunc(whole, behind, bytes.Equal) {
				t.Fatalf("seal %d: other rows", number)
			}
			mustTellTheSame(t, want.Outbox, got.Outbox)
			p.Committed(number)
			q.Committed(number)
			want = nil
		}
		finish := func() { t.Helper(); write(1 << 30) }
		both := func(do func(*partition.Partition) error) {
			for _, each := range []*partition.Partition{p, q} {
				if err := do(each); err != nil {
					t.Fatal(err)
				}
			}
		}
		seal := func() {
			t.Helper()
			finish()
			number++
			for _, each := range []*partition.Partition{p, q} {
				each.SetTell(tell)
				if number >= s.byAge {
					each.SetLayout(partition.ByAge)
				}
			}
			sealed := p.Seal(number)
			want = &sealed
			whole.apply(sealed.Changes)
			q.Cut(number)
		}
		for _, st := range stepsOf(t, s.mode) {
			now += 31 * schemas.Second
			switch st.kind {
			case stepConsume:
				both(func(p *partition.Partition) error { return p.Consume(&schemas.Batch{Records: st.batch}, now) })
			case stepTick:
				fetched := partition.SourceStatus{CaughtUp: true, FetchedAt: now}
				both(func(p *partition.Partition) error {
					return p.Tick(now, [schemas.NumInputs]partition.SourceStatus{fetched, fetched, fetched})
				})
			case stepTariff:
				if known < len(tariffs()) {
					both(func(p *partition.Partition) error { return p.PutTariff(schemas.Offset(known), tariffs()[known]) })
					known++
				}
			case stepEndSource:
				both(func(p *partition.Partition) error { return p.EndSource(st.topic, now) })
			case stepSeal:
				seal()
			case stepSweep:
				finish()
				if a, b := p.Sweep(0, 0), q.Sweep(0, 0); a != b {
					t.Fatalf("swept %d and %d", a, b)
				}
			case stepRestore:
				seal()
				finish()
				p, q = s.restore(t, whole, now), s.restore(t, behind, now)
			}
			write(rapid.IntRange(0, 2).Draw(t, "write"))
		}
		finish()
	})
}

func mustTellTheSame(t rapid.TB, want, got schemas.Outbox) {
	t.Helper()
	byID := func(trips []schemas.TripSummary) map[schemas.TripID]schemas.TripSummary {
		m := map[schemas.TripID]schemas.TripSummary{}
		for _, s := range trips {
			m[s.TripID] = s
		}
		return m
	}
	if a, b := byID(want.Trips), byID(got.Trips); !reflect.DeepEqual(a, b) {
		t.Fatalf("trips told: %+v, want %+v", b, a)
	}
	want.Trips, got.Trips = nil, nil
	if !reflect.DeepEqual(want, got) {
		t.Fatalf("outbox %+v, want %+v", got, want)
	}
}
