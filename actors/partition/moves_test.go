package partition_test

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"taximeter/schemas"
)

// After each of a hundred moves to another owner, all that came so far comes again: every
// event is a duplicate, and no trip is other than without.
func TestEventsRepeatedAfterEachOfAHundredMovesCountOnce(t *testing.T) {
	const moves = 100
	rapid.Check(t, func(t *rapid.T) {
		s := eventFile(160)
		arrival := arrivalOf(t)
		once := s.fresh(tariffs(), memStore{}, 0)
		rows := memStore{}
		p := s.fresh(tariffs(), rows, 0)
		var next [schemas.NumInputs]schemas.Offset
		take := func(records []schemas.Record) {
			again := make([]schemas.Record, len(records))
			for i, r := range records {
				r.Offset = next[r.Topic]
				next[r.Topic]++
				again[i] = r
			}
			consume(t, p, again, 0)
		}
		var nextOnce [schemas.NumInputs]schemas.Offset
		came := 0
		for move := range moves {
			if fresh := arrival[came:min(came+1+len(arrival)/moves, len(arrival))]; len(fresh) > 0 {
				take(fresh)
				for _, r := range fresh {
					r.Offset = nextOnce[r.Topic]
					nextOnce[r.Topic]++
					consume(t, once, []schemas.Record{r}, 0)
				}
				came += len(fresh)
			}
			cut := p.Seal(int64(move + 1))
			rows.apply(cut.Changes)
			p = s.restore(t, rows, 0)
			if move%10 != 0 && came == len(arrival) {
				continue // nothing new can be found out
			}
			before := p.Ledger().Verdicts
			take(arrival[:came])
			for v, n := range p.Ledger().Verdicts {
				if v := schemas.Verdict(v); n != before[v] && v.Accepted() {
					t.Fatalf("move %d: %d events were taken as %s again", move, n-before[v], v)
				}
			}
		}
		for _, r := range arrival {
			got, known, err := p.View(r.TripID)
			want, wanted, err2 := once.View(r.TripID)
			if err != nil || err2 != nil || known != wanted {
				t.Fatalf("trip %s: %t, %t, %v, %v", r.TripID, known, wanted, err, err2)
			}
			got.NextTimer, want.NextTimer = nil, nil
			got.Events.Duplicates, want.Events.Duplicates = 0, 0
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("trip %s: %+v\nwithout repetition %+v", r.TripID, got, want)
			}
		}
	})
}
