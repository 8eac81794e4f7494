package partition

import (
	"slices"

	"taximeter/schemas"
)

// Tell is what outboxes tell beside bills, windows and dead letters.
type Tell struct {
	Verdicts bool // of each offset
	Trips    bool // that changed
}

// SetTell says what the seals from now on tell.
func (p *Partition) SetTell(t Tell) { p.tell = t }

// verdictLog is what became of the offsets of one topic since the base's cut, run by run.
type verdictLog struct {
	first schemas.Offset // valid with runs
	runs  []schemas.VerdictRun
}

// add notes the verdict of n offsets from at on, which is where the log ends.
func (l *verdictLog) add(at schemas.Offset, v schemas.Verdict, n int64) {
	last := len(l.runs) - 1
	switch {
	case n == 0:
	case last < 0:
		l.first = at
		l.runs = append(l.runs, schemas.VerdictRun{Verdict: v, Length: n})
	case l.runs[last].Verdict == v:
		l.runs[last].Length += n
	default:
		l.runs = append(l.runs, schemas.VerdictRun{Verdict: v, Length: n})
	}
}

// jump notes that an operator moved where consumption goes on. Offsets that are read again
// get another verdict.
func (l *verdictLog) jump(from, to schemas.Offset) {
	if to > from {
		l.add(from, schemas.NoRecord, int64(to-from))
	} else {
		*l = verdictLog{}
	}
}

// tellVerdicts copies what the logs hold.
func (p *Partition) tellVerdicts() (all []schemas.VerdictSpan) {
	for t := range p.told {
		if l := &p.told[t]; p.tell.Verdicts && len(l.runs) > 0 {
			all = append(all, schemas.VerdictSpan{Topic: schemas.Topic(t), First: l.first, Runs: slices.Clone(l.runs)})
		}
	}
	return all
}

// forget drops the offsets before next.
func (l *verdictLog) forget(next schemas.Offset) {
	gone := 0
	for gone < len(l.runs) && l.first < next {
		r := &l.runs[gone]
		n := min(r.Length, int64(next-l.first))
		l.first += schemas.Offset(n)
		if r.Length -= n; r.Length > 0 {
			break
		}
		gone++
	}
	l.runs = slices.Delete(l.runs, 0, gone)
}

// summary is a trip as a seal told it.
type summary struct {
	schemas.TripSummary
	seal int64 // the newest that told it
}

// summarise tells a trip as it stands at the cut under way.
func (p *Partition) summarise(s *Slot) {
	if !p.tell.Trips || s.Trip.Expired() {
		return
	}
	if p.summaries == nil {
		p.summaries = make(map[schemas.TripID]summary)
	}
	p.summaries[s.ID()] = summary{s.Trip.Summary(p.cutting.sealed.Watermark), p.cutting.number}
}

// tellTrips gives all summaries since the base's cut.
func (p *Partition) tellTrips() []schemas.TripSummary {
	if !p.tell.Trips || len(p.summaries) == 0 {
		return nil
	}
	all := make([]schemas.TripSummary, 0, len(p.summaries))
	for _, t := range p.summaries {
		all = append(all, t.TripSummary)
	}
	return all
}

// toldTrips drops the summaries that a committed seal holds.
func (p *Partition) toldTrips(number int64) {
	for id, t := range p.summaries {
		if t.seal <= number {
			delete(p.summaries, id)
		}
	}
}
