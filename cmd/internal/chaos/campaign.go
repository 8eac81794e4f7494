package chaos

import (
	"context"
	"fmt"
	"sync"
)

// Total is what some runs found.
type Total struct {
	Runs, Failed                   int
	Duplicated, Missing, Differing int
	Starts                         int // processes started
	AtPoints                       int // of them, those that their plan's point ended
	Tables                         int // runs that kept a lake
}

// Lives tells in words how many processes there were.
func (t Total) Lives() string {
	return fmt.Sprintf("%d processes lived and died, %d of them at their plan's point; %d runs kept a lake", t.Starts, t.AtPoints, t.Tables)
}

// String is the line that a campaign closes with.
func (t Total) String() string {
	return fmt.Sprintf("runs=%d duplicated=%d missing=%d differing=%d", t.Runs, t.Duplicated, t.Missing, t.Differing)
}

// Campaign runs the scenarios of n seeds from first on, some at once. told hears of every
// run that came to its end, one at a time.
func Campaign(ctx context.Context, o Options, first uint64, n, parallel int, told func(Scenario, Result)) (total Total) {
	seeds := make(chan uint64)
	var working sync.WaitGroup
	var mu sync.Mutex // guards total and told
	for range parallel {
		working.Go(func() {
			for seed := range seeds {
				s := Draw(seed)
				if o.Tables > 0 && seed%o.Tables == 0 {
					s.drawTables()
				}
				r := Run(ctx, o, s)
				if ctx.Err() != nil {
					continue // interrupted: it says nothing
				}
				mu.Lock()
				total.add(&s, &r)
				told(s, r)
				mu.Unlock()
			}
		})
	}
	for i := range uint64(n) {
		if ctx.Err() != nil {
			break
		}
		seeds <- first + i
	}
	close(seeds)
	working.Wait()
	return total
}

func (t *Total) add(s *Scenario, r *Result) {
	t.Runs++
	if s.Tables {
		t.Tables++
	}
	if !r.OK() {
		t.Failed++
	}
	t.Duplicated += r.Duplicated
	t.Missing += r.Missing
	t.Differing += r.Differing
	t.Starts += r.Starts
	t.AtPoints += r.AtPoints
}
