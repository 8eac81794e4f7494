package dev

import (
	"context"
	"errors"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"taximeter/checkpoint"
	"taximeter/cmd/internal/city"
	"taximeter/schemas"
	"taximeter/sinks"
)

// unsteady is a table in memory whose calls fail often, before or after they had
// their effect.
type unsteady struct {
	t  *testing.T
	mu sync.Mutex // guards what follows: the test reads it in the end

	opening  int
	calls    int
	progress sinks.Progress
	next     map[[2]int64]schemas.Offset // by partition and topic
	bills    map[schemas.EventID]int
	windows  int
	letters  int
	trips    map[schemas.TripID]schemas.TripSummary
}

var errUnsteady = errors.New("the table is unsteady")

// opened fails the first time.
func (u *unsteady) opened() (sinks.Sink, error) {
	if u.opening++; u.opening == 1 {
		return nil, errUnsteady
	}
	return u, nil
}

func (u *unsteady) Close() error { return nil }

func (u *unsteady) Progress(context.Context) (sinks.Progress, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.progress, nil
}

func (u *unsteady) Rewind(context.Context, sinks.Progress, checkpoint.Span) error {
	return errors.New("nothing was restored")
}

func (u *unsteady) Commit(_ context.Context, from, to sinks.Progress, items []sinks.Item) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if from != u.progress {
		return sinks.ErrMoved
	}
	u.calls++
	if u.calls%3 == 1 {
		return errUnsteady
	}
	u.progress = to
	for i, item := range items {
		if i > 0 && (item.Made < items[i-1].Made || item.Made == items[i-1].Made && item.Partition <= items[i-1].Partition) || item.Made <= from.Made || item.Made > to.Made || item.Abandoned {
			u.t.Errorf("item %d of partition %d out of place", item.Made, item.Partition)
		}
		u.take(item)
	}
	if u.calls%3 == 2 {
		return errUnsteady
	}
	return nil
}

func (u *unsteady) take(item sinks.Item) {
	for _, s := range item.Outbox.Verdicts {
		at := [2]int64{int64(item.Partition), int64(s.Topic)}
		if s.First != u.next[at] {
			u.t.Errorf("partition %d, %s: offsets from %d on, after all before %d", item.Partition, s.Topic, s.First, u.next[at])
		}
		u.next[at] = s.Next()
	}
	for _, b := range item.Outbox.Bills {
		u.bills[b.EventID]++
	}
	u.windows += len(item.Outbox.Windows)
	u.letters += len(item.Outbox.DeadLetters)
	for _, trip := range item.Outbox.Trips {
		u.trips[trip.TripID] = trip
	}
}

// A table that fails all the time, also after it took what it was given, ends with every
// outbox once, every offset told, and every trip as it stands; the node waits for it.
func TestAnUnsteadyTableGetsEveryOutboxOnce(t *testing.T) {
	table := &unsteady{t: t, next: map[[2]int64]schemas.Offset{}, bills: map[schemas.EventID]int{}, trips: map[schemas.TripID]schemas.TripSummary{}}
	o := quiet(t)
	o.UntilDone, o.Out, o.tables = true, filepath.Join(t.TempDir(), "out"), []sinks.Configured{{Name: "unsteady",
		Wants: sinks.Wants{Verdicts: true, Trips: true}, Open: func(context.Context) (sinks.Sink, error) { return table.opened() }}}
	o.Events = []string{generated(t, 10_000, 20)}
	o.Tariffs, o.Rules = city.Tariffs(start), city.Rules(start)
	sum, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	table.mu.Lock()
	defer table.mu.Unlock()
	versions := 0
	for id, n := range table.bills {
		versions++
		if n != 1 {
			t.Errorf("bill %s came %d times", id, n)
		}
	}
	if versions < 30 || table.calls < 2 || sum.DeadLetters != table.letters {
		t.Errorf("%d bills, %d commits, %d letters of %d", versions, table.calls, table.letters, sum.DeadLetters)
	}
	amount := schemas.Cents(0)
	for _, trip := range table.trips {
		amount += trip.Amount
	}
	if len(sum.Amounts) != 1 || amount != sum.Amounts["BRL"] {
		t.Errorf("the trips' bills come to %s, the bills to %v", amount, sum.Amounts)
	}
	told := map[string]int64{}
	for at, next := range table.next {
		told[strconv.Itoa(int(at[0]))] += int64(next)
	}
	records := int64(0)
	for _, n := range told {
		records += n
	}
	if records < sum.Records {
		t.Errorf("%d offsets told, %d records have a verdict", records, sum.Records)
	}
}
