package sinks_test

import (
	"slices"
	"testing"

	"taximeter/checkpoint"
	"taximeter/schemas"
	"taximeter/sinks"
)

// pending is a tip with outboxes made by the numbers given, a list a partition.
func pending(tip checkpoint.Number, restores []checkpoint.Span, made ...[]checkpoint.Number) checkpoint.Manifest {
	m := checkpoint.Manifest{Number: tip, Restores: restores, Entries: make([]checkpoint.Entry, len(made))}
	for p, numbers := range made {
		for _, n := range numbers {
			m.Entries[p].Pending = append(m.Entries[p].Pending, checkpoint.OutboxRef{Made: n})
		}
	}
	return m
}

type place struct {
	made checkpoint.Number
	p    schemas.Partition
}

func TestDueIsAllThatIsNewerInOrder(t *testing.T) {
	tip := pending(10, nil, []checkpoint.Number{2, 5, 9}, []checkpoint.Number{5, 7})
	for _, c := range []struct {
		from  checkpoint.Number
		limit int
		want  []place
		to    checkpoint.Number
	}{
		{0, 100, []place{{2, 0}, {5, 0}, {5, 1}, {7, 1}, {9, 0}}, 10},
		{4, 100, []place{{5, 0}, {5, 1}, {7, 1}, {9, 0}}, 10},
		{9, 100, nil, 10},
		{0, 1, []place{{2, 0}}, 2},
		{0, 2, []place{{2, 0}, {5, 0}, {5, 1}}, 5}, // what one manifest made stays together
		{2, 1, []place{{5, 0}, {5, 1}}, 5},
		{7, 1, []place{{9, 0}}, 10},
	} {
		due, to, err := sinks.Due(tip, sinks.Progress{Made: c.from}, c.limit)
		if err != nil {
			t.Fatal(err)
		}
		var got []place
		for _, r := range due {
			got = append(got, place{r.Made, r.Partition})
		}
		if !slices.Equal(got, c.want) || to.Made != c.to {
			t.Errorf("after %d, at most %d: %v up to %d, want %v up to %d", c.from, c.limit, got, to.Made, c.want, c.to)
		}
	}
}

func TestDueMarksWhatARestoreLeftBehind(t *testing.T) {
	tip := pending(12, []checkpoint.Span{{After: 4, Through: 8}}, []checkpoint.Number{4, 5, 8, 11})
	due, _, err := sinks.Due(tip, sinks.Progress{Restores: 1}, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range due {
		if want := r.Made == 5 || r.Made == 8; r.Abandoned != want {
			t.Errorf("outbox %d: abandoned %v", r.Made, r.Abandoned)
		}
	}
}

func TestDueRefusesWhatCannotBeRight(t *testing.T) {
	tip := pending(12, []checkpoint.Span{{After: 4, Through: 8}}, []checkpoint.Number{11})
	for name, from := range map[string]sinks.Progress{"a restore not followed": {Made: 3}, "ahead of the chain": {Made: 13, Restores: 1}} {
		if _, _, err := sinks.Due(tip, from, 10); err == nil {
			t.Errorf("%s passed", name)
		}
	}
}
