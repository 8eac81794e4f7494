package main

import (
	"container/heap"
	"context"
	"time"

	"taximeter/bench/internal/load"
	"taximeter/bench/internal/traffic"
	"taximeter/schemas"
	"taximeter/schemas/edge"
)

// source gives records in the order of their append times.
type source func() edge.Line

// background traffic without end.
func background(s *traffic.Stream) source {
	return func() edge.Line { l, _ := s.Next(); return l }
}

// probing merges the steps of overlapping probes.
func probing(p probes) source {
	var waiting queue
	n := 0
	return func() edge.Line {
		for len(waiting) == 0 || schemas.Millis(p.begins(n).UnixMilli()) <= waiting[0].AppendedAt {
			for _, l := range p.lines(n) {
				heap.Push(&waiting, l)
			}
			n++
		}
		return heap.Pop(&waiting).(edge.Line)
	}
}

type queue []edge.Line

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].AppendedAt < q[j].AppendedAt }
func (q queue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)        { *q = append(*q, x.(edge.Line)) }
func (q *queue) Pop() any {
	last := len(*q) - 1
	l := (*q)[last]
	*q = (*q)[:last]
	return l
}

// pacer sends a source's records when they are due, never sooner, and never waits for the
// processor: what it cannot send in time it sends late, against the same schedule.
type pacer struct {
	next   source
	loader *load.Loader
	line   *edge.Line // drawn, not due yet
	sent   int64
	behind time.Duration // the worst so far
}

// backlog sends what is due by now.
func (p *pacer) backlog(ctx context.Context) error {
	for ctx.Err() == nil {
		if p.line == nil {
			l := p.next()
			p.line = &l
		}
		if p.line.AppendedAt.Time().After(time.Now()) {
			return nil
		}
		if err := p.loader.Send(ctx, p.line); err != nil {
			return err
		}
		p.line = nil
		p.sent++
	}
	return ctx.Err()
}

// run sends until ctx ends.
func (p *pacer) run(ctx context.Context) error {
	for {
		err := p.backlog(ctx)
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // it failed because the run is over
		case err != nil:
			return err
		}
		timer := time.NewTimer(time.Until(p.line.AppendedAt.Time()))
		select {
		case <-timer.C:
			p.behind = max(p.behind, time.Since(p.line.AppendedAt.Time()))
		case <-ctx.Done():
			timer.Stop()
			return nil
		}
	}
}
