package chaos

import (
	"cmp"
	"context"
	"errors"
	"io"
	"sync"

	"taximeter/cmd/internal/events"
	"taximeter/cmd/internal/world"
	"taximeter/schemas/edge"
)

// feeding sends a run's events, in the order of their append times over all topics: that
// order decides the alerts, and simulate has it too.
type feeding struct {
	world *world.World
	files *events.Files
	// sent hears of each line before it goes; nil = nobody does.
	sent func(*edge.Line)
	lot  int64 // records in one request; 0 = usualLot
}

// usualLot is how many records go in one request. It holds the next ones of every topic, and the
// broker appends it at once, so that a fetch never sees one topic ahead of another.
const usualLot = 64

// send sends at most n events, fewer at the end of the file.
func (f *feeding) send(ctx context.Context, n int64) error {
	lot := cmp.Or(f.lot, usualLot)
	for ; n > 0; n -= lot {
		more, err := f.sendLot(ctx, min(n, lot))
		if err != nil || !more {
			return err
		}
	}
	return nil
}

func (f *feeding) sendLot(ctx context.Context, n int64) (more bool, err error) {
	var mu sync.Mutex
	var failed error
	for range n {
		line, err := f.files.Next()
		if err == io.EOF {
			n = 0
			break
		}
		if err != nil {
			return false, err
		}
		if f.sent != nil {
			f.sent(line)
		}
		err = f.world.Send(ctx, line, func(err error) {
			mu.Lock()
			defer mu.Unlock()
			failed = errors.Join(failed, err)
		})
		if err != nil {
			return false, err
		}
	}
	err = f.world.Flush(ctx)
	mu.Lock()
	defer mu.Unlock()
	return n > 0, errors.Join(err, failed)
}
