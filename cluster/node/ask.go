package node

import (
	"context"
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"taximeter/actors/coordinator"
)

// persist runs f again, after growing pauses, until it succeeds or ctx or the node ends.
func (n *Node) persist(ctx context.Context, what string, f func(context.Context) error) error {
	const first, last = 200 * time.Millisecond, 10 * time.Second
	for pause := first; ; pause = min(2*pause, last) {
		err := f(ctx)
		if err == nil || ctx.Err() != nil || n.ctx.Err() != nil {
			return err
		}
		n.log.Warn(what+" failed; trying again", "err", err, "pause", pause)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		case <-n.ctx.Done():
			return n.ctx.Err()
		}
	}
}

// ask waits for an actor's answer of type T, or an error.
func ask[T any](ctx context.Context, n *Node, pid *actor.PID, m any) (T, error) {
	var zero T
	const longest = time.Hour // ctx is what bounds it
	answer, err := await(ctx, n.system.Root.RequestFuture(pid, m, longest))
	if err != nil {
		return zero, err
	}
	switch a := answer.(type) {
	case T:
		return a, nil
	case error:
		return zero, a
	}
	return zero, fmt.Errorf("unexpected answer %T", answer)
}

func await(ctx context.Context, f actor.Future) (any, error) {
	type result struct {
		answer any
		err    error
	}
	done := make(chan result, 1)
	go func() {
		answer, err := f.Result()
		done <- result{answer, err}
	}()
	select {
	case r := <-done:
		return r.answer, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func attach(t *task) *coordinator.Attach { return &coordinator.Attach{Task: t} }
func detach(t *task) *coordinator.Detach { return &coordinator.Detach{Task: t} }
