package partition_test

import (
	"cmp"
	"encoding/json"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"taximeter/actors/partition"
	"taximeter/schemas"
)

// sealer goes through the stages of seals as an owner does, some of them between every two steps.
type sealer struct {
	p        *partition.Partition
	rows     memStore
	number   int64
	writing  bool
	applying []partition.Change // written, and not in the store yet
	outbox   schemas.Outbox     // of all committed seals
}

func (l *sealer) work(n int) {
	switch {
	case l.writing:
		cut, whole := l.p.Write(n)
		if whole {
			l.writing, l.applying = false, cut.Changes
			l.outbox.Bills = append(l.outbox.Bills, cut.Outbox.Bills...)
			l.outbox.Windows = append(l.outbox.Windows, cut.Outbox.Windows...)
			l.outbox.DeadLetters = append(l.outbox.DeadLetters, cut.Outbox.DeadLetters...)
		}
	case l.applying != nil:
		l.rows.apply(l.applying)
		l.applying = nil
		l.p.Committed(l.number)
		l.p.StartSweep(0, 0)
	default:
		l.p.SweepSome(n)
	}
}

func (l *sealer) cut(s setup) {
	l.finish()
	if l.number++; l.number >= s.byAge {
		l.p.SetLayout(partition.ByAge)
	}
	l.p.Cut(l.number)
	l.writing = true
}

func (l *sealer) finish() {
	for l.writing || l.applying != nil {
		l.work(1 << 30)
	}
}

// Events, time, tariffs and questions from outside between any two stages of a seal change nothing that can be seen,
// and see nothing of it.
func TestWhatComesBetweenTheStagesOfASeal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := setups(t)
		steps := stepsOf(t, s.mode)
		known := rapid.IntRange(0, len(tariffs())).Draw(t, "tariffs")
		var trips []schemas.TripID
		for _, st := range steps {
			for _, r := range st.batch {
				if !slices.Contains(trips, r.TripID) {
					trips = append(trips, r.TripID)
				}
			}
		}
		plain := s.fresh(tariffs()[:known], nil, t0)
		l := &sealer{rows: memStore{}}
		l.p = s.fresh(tariffs()[:known], l.rows, t0)
		both := func(do func(*partition.Partition) error) {
			t.Helper()
			for _, p := range []*partition.Partition{plain, l.p} {
				if err := do(p); err != nil {
					t.Fatal(err)
				}
			}
		}
		ask := func(id schemas.TripID) {
			t.Helper()
			var said []string
			both(func(p *partition.Partition) error {
				v, known, err := p.View(id)
				v.NextTimer = nil // may come earlier than needed
				x, _, err2 := p.Explain(id)
				b, err3 := json.Marshal([]any{v, x, known})
				for _, e := range []error{err, err2, err3} {
					if e != nil {
						return e
					}
				}
				said = append(said, string(b))
				return nil
			})
			if said[0] != said[1] {
				t.Fatalf("trip %s:\n%s\nwithout seals:\n%s", id, said[1], said[0])
			}
		}
		now := t0
		for _, st := range steps {
			now += 31 * schemas.Second
			switch {
			case st.kind == stepConsume:
				both(func(p *partition.Partition) error {
					return p.Consume(&schemas.Batch{Records: slices.Clone(st.batch)}, now)
				})
			case st.kind == stepTick:
				fetched := partition.SourceStatus{CaughtUp: true, FetchedAt: now}
				both(func(p *partition.Partition) error {
					return p.Tick(now, [schemas.NumInputs]partition.SourceStatus{fetched, fetched, fetched})
				})
			case st.kind == stepTariff && known < len(tariffs()):
				both(func(p *partition.Partition) error { return p.PutTariff(schemas.Offset(known), tariffs()[known]) })
				known++
			case st.kind == stepEndSource:
				both(func(p *partition.Partition) error { return p.EndSource(st.topic, now) })
			case st.kind == stepSeal, st.kind == stepSweep:
				l.cut(s)
			case st.kind == stepRestore:
				l.cut(s)
				l.finish()
				unsent := l.p.Unsent()
				l.p = s.restore(t, l.rows, now)
				l.p.Recover(slices.Clone(unsent), nil, nil)
			}
			if rapid.IntRange(0, 3).Draw(t, "ask") == 0 && len(trips) > 0 {
				ask(rapid.SampledFrom(trips).Draw(t, "trip"))
			}
			l.work(rapid.IntRange(0, 2).Draw(t, "work"))
		}
		for _, id := range trips {
			ask(id)
		}
		both((*partition.Partition).EndInput)
		for _, id := range trips {
			ask(id)
		}
		l.cut(s)
		l.finish()
		last := plain.Seal(1)
		sortOutbox(&last.Outbox)
		sortOutbox(&l.outbox)
		for _, each := range [][2]any{{last.Outbox.Bills, l.outbox.Bills}, {last.Outbox.Windows, l.outbox.Windows}, {last.Outbox.DeadLetters, l.outbox.DeadLetters},
			{plain.Ledger(), l.p.Ledger()}} {
			want, _ := json.Marshal(each[0])
			got, _ := json.Marshal(each[1])
			if string(want) != string(got) && !(string(want) == "null" || string(got) == "null") {
				t.Fatalf("got\n%s\nwant\n%s", got, want)
			}
		}
		l.rows.mustBeFound(t)
	})
}

func sortOutbox(o *schemas.Outbox) {
	slices.SortStableFunc(o.Bills, func(a, b schemas.Bill) int { return cmp.Compare(a.TripID, b.TripID) })
	slices.SortStableFunc(o.Windows, func(a, b schemas.Window) int { return cmp.Compare(a.TripID, b.TripID) })
}
