package iceberg

import (
	"fmt"

	"taximeter/checkpoint"
	"taximeter/schemas"
	"taximeter/sinks"
)

// stretch is what one outbox says of one topic of its partition.
type stretch struct {
	schemas.VerdictSpan
	made checkpoint.Number
}

// record finds the first offset from on that holds a record; ok is false if none does.
func (s *stretch) record(from schemas.Offset) (o schemas.Offset, v schemas.Verdict, ok bool) {
	start := s.First
	for _, r := range s.Runs {
		end := start + schemas.Offset(r.Length)
		if r.Verdict != schemas.NoRecord && from < end {
			return max(from, start), r.Verdict, true
		}
		start = end
	}
	return 0, 0, false
}

// last is the last offset that holds a record.
func (s *stretch) last() (o schemas.Offset, ok bool) {
	end := s.Next()
	for i := len(s.Runs) - 1; i >= 0; i-- {
		if s.Runs[i].Verdict != schemas.NoRecord {
			return end - 1, true
		}
		end -= schemas.Offset(s.Runs[i].Length)
	}
	return 0, false
}

// follower goes along the records of one topic and partition as they are read again, says
// of each what became of it, and makes the rows of TableVerdicts. Every record that an
// outbox tells of must come, in order: it is the lake's proof that it lacks nothing.
type follower struct {
	topic     schemas.Topic
	partition schemas.Partition
	start     schemas.Offset // what lies before is not in Kafka any more
	stretches []stretch      // ascending, without overlap; the first is under way

	opened   bool
	expected schemas.Offset // of the stretch under way; valid if more
	verdict  schemas.Verdict
	more     bool
	row      verdictRow // under way
	rows     []verdictRow
}

// wanted is what must be read; ok is false if nothing.
func (f *follower) wanted() (r Range, ok bool) {
	r = Range{Topic: f.topic, Partition: f.partition}
	for i := range f.stretches {
		s := &f.stretches[i]
		first, _, has := s.record(max(s.First, f.start))
		if !has {
			continue
		}
		if !ok {
			r.First, ok = first, true
		}
		last, _ := s.last()
		r.Next = last + 1
	}
	return r, ok
}

// missing is what cannot be read any more.
func (f *follower) missing() (r Range, ok bool) {
	for i := range f.stretches {
		s := &f.stretches[i]
		if first, _, has := s.record(s.First); has && first < f.start {
			last, _ := s.last()
			return Range{f.topic, f.partition, first, last + 1}, true
		}
	}
	return Range{}, false
}

// take follows to one record. ok is false if no outbox tells of it, such as one that an
// operator skipped.
func (f *follower) take(r *Record) (v schemas.Verdict, made checkpoint.Number, ok bool, err error) {
	for len(f.stretches) > 0 {
		f.open()
		if r.Offset < f.stretches[0].Next() {
			break
		}
		if err := f.close(); err != nil {
			return 0, 0, false, err
		}
	}
	switch {
	case len(f.stretches) == 0 || !f.more || r.Offset < f.expected:
		return 0, 0, false, nil
	case r.Offset > f.expected:
		return 0, 0, false, f.gap()
	}
	hour := r.AppendedAt - mod(r.AppendedAt, schemas.Hour)
	if f.row.hour != nil && *f.row.hour != hour {
		f.endRow(r.Offset)
	}
	f.row.hour = &hour
	v, made = f.verdict, f.stretches[0].made
	f.row.counts[v]++
	f.expected, f.verdict, f.more = f.stretches[0].record(r.Offset + 1)
	return v, made, true, nil
}

func mod(t, d schemas.Millis) schemas.Millis { return (t%d + d) % d }

// finish closes what is left; it fails if a record did not come.
func (f *follower) finish() error {
	for len(f.stretches) > 0 {
		f.open()
		if err := f.close(); err != nil {
			return err
		}
	}
	return nil
}

func (f *follower) open() {
	if f.opened {
		return
	}
	s := &f.stretches[0]
	f.opened = true
	f.row = verdictRow{topic: f.topic, partition: f.partition, made: s.made, first: s.First}
	if f.start > s.First {
		f.lose(min(f.start, s.Next()))
	}
	f.expected, f.verdict, f.more = s.record(f.row.first)
}

// lose writes down the offsets before through, which Kafka no longer holds.
func (f *follower) lose(through schemas.Offset) {
	start := f.stretches[0].First
	for _, r := range f.stretches[0].Runs {
		n := int64(min(start+schemas.Offset(r.Length), through) - start)
		if n <= 0 {
			break
		}
		if r.Verdict != schemas.NoRecord {
			f.row.counts[r.Verdict] += n
		}
		if r.Verdict.Accepted() {
			f.row.lost += n
		}
		start += schemas.Offset(r.Length)
	}
	f.endRow(through)
}

// endRow ends the row under way before next and begins another.
func (f *follower) endRow(next schemas.Offset) {
	f.row.next = next
	if f.row.first < f.row.next {
		f.rows = append(f.rows, f.row)
	}
	f.row = verdictRow{topic: f.topic, partition: f.partition, made: f.row.made, first: next}
}

func (f *follower) close() error {
	if f.more {
		return f.gap()
	}
	f.endRow(f.stretches[0].Next())
	f.stretches, f.opened = f.stretches[1:], false
	return nil
}

func (f *follower) gap() error {
	return fmt.Errorf("%s partition %d: the record at offset %d, of which checkpoint %d tells, did not come from Kafka", f.topic, f.partition, f.expected, f.stretches[0].made)
}

// lane names a follower.
type lane struct {
	topic     schemas.Topic
	partition schemas.Partition
}

// follow makes followers for what the items tell of offsets. Passes are read one after the
// other: a partition that went back, because of an operator or a restore, tells of the same
// offsets twice. What an abandoned line consumed is consumed again, and is not told of.
func follow(items []sinks.Item, starts [schemas.NumInputs]map[schemas.Partition]schemas.Offset) (passes []map[lane]*follower) {
	pass := map[lane]int{} // that a lane is in
	for _, item := range items {
		if item.Abandoned {
			continue
		}
		for _, span := range item.Outbox.Verdicts {
			if span.Next() == span.First {
				continue
			}
			l := lane{span.Topic, item.Partition}
			n := pass[l]
			if n < len(passes) && passes[n][l] != nil {
				before := passes[n][l].stretches
				if span.First < before[len(before)-1].Next() {
					n++
				}
			}
			for len(passes) <= n {
				passes = append(passes, map[lane]*follower{})
			}
			pass[l] = n
			f := passes[n][l]
			if f == nil {
				f = &follower{topic: l.topic, partition: l.partition, start: starts[l.topic][l.partition]}
				passes[n][l] = f
			}
			f.stretches = append(f.stretches, stretch{span, item.Made})
		}
	}
	return passes
}
