package reconcile

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"taximeter/schemas"
	"taximeter/sinks/iceberg"
)

// lane is what the lake says of the offsets of a topic and partition.
type lane struct {
	first, next schemas.Offset
	length      int64
}

// lake compares the offsets and verdicts of the lake with those of the states.
func (r *running) lake(ctx context.Context) error {
	if r.Lake == nil {
		return nil
	}
	progress, err := r.Lake.Progress(ctx)
	if err != nil {
		return err
	}
	table := &Table{Checkpoint: progress.Made}
	r.report.Lake = table
	lanes := make(map[schemas.Partition]*[schemas.NumInputs]lane)
	counts := make(map[schemas.Partition]*[schemas.NumVerdicts]int64)
	lost := make(map[schemas.Partition]int64)
	err = r.Lake.Stretches(ctx, func(s iceberg.Stretch) error {
		if s.Made > r.Tip.Number {
			return nil
		}
		table.Rows++
		if lanes[s.Partition] == nil {
			lanes[s.Partition], counts[s.Partition] = new([schemas.NumInputs]lane), new([schemas.NumVerdicts]int64)
		}
		l := &lanes[s.Partition][s.Topic]
		if l.length == 0 || s.First < l.first {
			l.first = s.First
		}
		l.next = max(l.next, s.Next)
		l.length += int64(s.Next - s.First)
		for v, n := range s.Counts {
			counts[s.Partition][v] += n
		}
		lost[s.Partition] += s.Lost
		return nil
	})
	if err != nil {
		return fmt.Errorf("lake: %w", err)
	}
	for _, p := range r.report.Partitions {
		if n := lost[p.Partition]; n > 0 {
			r.report.differ(kindLake, p.Partition, "", "%d accepted records are in no table: Kafka had deleted them before they were read again", n)
		}
		if lanes[p.Partition] == nil {
			lanes[p.Partition], counts[p.Partition] = new([schemas.NumInputs]lane), new([schemas.NumVerdicts]int64)
		}
		r.compareLake(table, p, lanes[p.Partition], counts[p.Partition])
	}
	return nil
}

func (r *running) compareLake(table *Table, p Partition, lanes *[schemas.NumInputs]lane, counts *[schemas.NumVerdicts]int64) {
	entry := r.Tip.Entries[p.Partition]
	if table.Checkpoint < entry.Made {
		table.Behind++ // it has not been told yet
		return
	}
	table.Compared++
	length, late := int64(0), false
	for t, l := range lanes {
		length += l.length
		stands := entry.Stands()[t]
		switch {
		case l.length == 0 && stands > p.first[t], l.first > p.first[t]:
			late = true
		case l.length > 0 && l.next != stands:
			r.report.differ(kindLake, p.Partition, "", "%s ends at offset %d in the lake, and was consumed up to %d", schemas.Topic(t), l.next, stands)
		}
		if p.Skipped == 0 && l.length != int64(l.next-l.first) { // what was read again lies there twice
			r.report.differ(kindLake, p.Partition, "", "%s: the rows for offsets [%d, %d) hold %d offsets", schemas.Topic(t), l.first, l.next, l.length)
		}
	}
	if late {
		table.Partial++
		return
	}
	for v := range schemas.NumVerdicts {
		if counts[v] != p.verdicts[v] {
			r.report.differ(kindLake, p.Partition, "", "%s: %d records in the lake, %d consumed", v, counts[v], p.verdicts[v])
		}
	}
}

// analytics compares the bills of the analytical table with the public ones.
func (r *running) analytics(ctx context.Context) error {
	if r.Analytics == nil {
		return nil
	}
	progress, err := r.Analytics.Progress(ctx)
	if err != nil {
		return err
	}
	table := &Table{Checkpoint: progress.Made}
	r.report.Analytics = table
	left := maps.Clone(r.bills)
	for t, err := range r.Analytics.Trips(ctx) {
		if err != nil {
			return err
		}
		table.Rows++
		b, ok := left[t.TripID]
		if !ok {
			continue
		}
		delete(left, t.TripID)
		table.Compared++
		if t.Checkpoint <= r.Tip.Number && (t.BillVersion != b.version || t.Amount != b.amount) && progress.Made >= r.Tip.Entries[b.partition].Made {
			r.report.differ(kindAnalytics, b.partition, t.TripID, "viagens has bill version %d of %s; public is version %d of %s", t.BillVersion, t.Amount, b.version, b.amount)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(left)) {
		if p := left[id].partition; progress.Made >= r.Tip.Entries[p].Made {
			r.report.differ(kindAnalytics, p, id, "viagens lacks the trip")
		}
	}
	return nil
}
