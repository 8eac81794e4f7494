package host

import (
	"context"
	"runtime"
	"sync"
	"time"
)

// Turns lets few owners of a process cut at a time, as a checkpoint asks all of them in the
// same instant. If all did at once, each would stand still until nearly all were done, and
// whoever was done would flush its store on the processors that the others wait for.
type Turns struct{ slots chan struct{} }

// turnPatience is how long a turn lasts at most: an owner that hangs does not keep the others
// from theirs.
const turnPatience = time.Second

// NewTurns leaves half of the processors to events.
func NewTurns() *Turns { return &Turns{make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))} }

// Take waits for a turn, until ctx ends. over ends it, and may be called again.
func (t *Turns) Take(ctx context.Context) (over func(), err error) {
	select {
	case t.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	free := sync.OnceFunc(func() { <-t.slots })
	late := time.AfterFunc(turnPatience, free)
	return func() { late.Stop(); free() }, nil
}
