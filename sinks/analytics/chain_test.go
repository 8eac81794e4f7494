package analytics_test

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"taximeter/checkpoint"
	"taximeter/schemas"
	"taximeter/sinks"
	"taximeter/sinks/analytics"
)

// chain is outboxes of a made-up chain, the same whoever asks.
func chain(from, to checkpoint.Number) (items []sinks.Item) {
	for n := from + 1; n <= to; n++ {
		r := rand.New(rand.NewPCG(7, uint64(n)))
		it := item(n, nil)
		for range 40 {
			it.Outbox.Trips = append(it.Outbox.Trips, randomTrip(r, 100))
		}
		items = append(items, it)
	}
	return items
}

// newestOf is the table of trips after items, by hand.
func newestOf(items []sinks.Item) []analytics.Trip {
	model := map[schemas.TripID]analytics.Trip{}
	for _, it := range items {
		for _, s := range it.Outbox.Trips {
			model[s.TripID] = analytics.Trip{TripSummary: s, Checkpoint: it.Made}
		}
	}
	return byID(model)
}

func byID(model map[schemas.TripID]analytics.Trip) (all []analytics.Trip) {
	for _, id := range slices.Sorted(maps.Keys(model)) {
		all = append(all, model[id])
	}
	return all
}

func wantChain(t *testing.T, db *analytics.DB, tip checkpoint.Number) {
	t.Helper()
	wantProgress(t, db, at(tip))
	want := newestOf(chain(0, tip))
	wantTrips(t, db, want...)
	wantRows(t, "frota_minuto", minutes(t, db, 0, noon.Add(schemas.Day)), fleet(want))
}

// follow commits the chain up to tip as a node does, in steps of its own size, and counts how
// often another was faster. It goes on after an error that passes.
func follow(ctx context.Context, db *analytics.DB, tip, step checkpoint.Number, passes func(error) bool) (moved int, err error) {
	for {
		p, err := db.Progress(ctx)
		switch {
		case err != nil && passes != nil && passes(err):
			continue
		case err != nil || p.Made == tip:
			return moved, err
		}
		to := at(min(p.Made+step, tip))
		switch err := db.Commit(ctx, p, to, chain(p.Made, to.Made)); {
		case errors.Is(err, sinks.ErrMoved):
			moved++
		case err != nil && (passes == nil || !passes(err)):
			return moved, err
		}
	}
}

func testCommitters(t *testing.T, d database) {
	url := d.fresh(t)
	const tip = 60
	var wg sync.WaitGroup
	for _, step := range []checkpoint.Number{1, 3, 4} {
		db := open(t, url)
		wg.Go(func() {
			moved, err := follow(t.Context(), db, tip, step, nil)
			if err != nil {
				t.Error(err)
			}
			t.Logf("the committer in steps of %d was overtaken %d times", step, moved)
		})
	}
	wg.Wait()
	wantChain(t, open(t, url), tip)
}

func testOpeners(t *testing.T, d database) {
	url := d.fresh(t)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			db, err := analytics.Open(t.Context(), url, namespace, slog.New(slog.DiscardHandler))
			if err != nil {
				t.Error(err)
				return
			}
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	wantProgress(t, open(t, url), at(0))
}
