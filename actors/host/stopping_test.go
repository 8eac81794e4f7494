package host_test

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"taximeter/actors/host"
	"taximeter/actors/partition"
	"taximeter/actors/rule"
	"taximeter/schemas"
)

// closing is a State that notes whether it is used when it is closed.
type closing struct {
	*rows
	closed, misused atomic.Bool
}

func (c *closing) Apply(changes []partition.Change) error {
	<-time.After(50 * time.Millisecond) // as a disk may take
	if c.closed.Load() {
		c.misused.Store(true)
	}
	return c.rows.Apply(changes)
}

// An owner that is stopped at any moment of a seal leaves its store alone from then on: it is closed.
func TestAStopInTheMiddleOfASealLeavesTheStore(t *testing.T) {
	trips := make([]schemas.TripID, 1200)
	for i := range trips {
		trips[i] = schemas.TripID(fmt.Sprint("c", i))
	}
	for n := range 6 {
		state := &closing{rows: &rows{content: make(map[string][]byte)}}
		r := newRunOn(t, &rule.Book{}, state, 0)
		r.deliver(schemas.RideStart, t0, trips...)
		busy, free := make(chan struct{}), make(chan struct{})
		r.send(&host.Delivery{Pieces: slices.Values([]*schemas.Batch{{}}), Release: func() { close(busy); <-free }})
		<-busy
		r.send(&host.SealRequest{Number: 1, Layout: partition.ByAge, Done: func(host.Cut, error) {}})
		reached := make(chan struct{})
		for i := range 6 { // of which each brings the seal on
			r.send(&host.Delivery{Pieces: slices.Values([]*schemas.Batch{{}}), Release: func() {
				if i == n {
					close(reached)
				}
			}})
		}
		close(free)
		<-reached
		if err := r.system.Root.StopFuture(r.pid).Wait(); err != nil {
			t.Fatal(err)
		}
		state.closed.Store(true)
		<-time.After(100 * time.Millisecond)
		if state.misused.Load() {
			t.Fatalf("stopped after %d messages: the closed store is written", n)
		}
	}
}
