package chaos

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"taximeter/cmd/internal/chaos/inject"
	"taximeter/cmd/internal/events"
)

// spawn starts a node and keeps count.
func (r *run) spawn(replay bool, plan inject.Plan, data string) (*process, error) {
	r.starts++
	return spawn(r.o.Binary, r.starts, replay, plan, r.environment(data))
}

// live runs one process to its end while share events are sent, half of them while it
// runs; before a replay all that is left is sent.
func (r *run) live(ctx context.Context, l *Life, share int64) (err error) {
	before := share / 2
	if l.Replay {
		before, share = r.s.Events, r.s.Events
	}
	if err := r.feeding.send(ctx, before); err != nil {
		return fmt.Errorf("send events: %w", err)
	}
	r.spoil(l.Network, l.Deaf, l.Late)
	defer r.spoil(0, 0, 0)
	data := "state"
	if l.Elsewhere {
		data = "state-" + strconv.Itoa(r.starts+1)
	}
	p, err := r.spawn(l.Replay, l.Plan, data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.bury(p)) }()
	sent := make(chan error, 1)
	go func() {
		if !l.Replay {
			if err := p.await(ctx, startPatience); err != nil {
				sent <- err
				return
			}
		}
		sent <- r.feeding.send(ctx, share-before)
	}()
	err = r.endOf(ctx, l, p)
	if err = errors.Join(err, <-sent); err == nil && l.Rest > 0 {
		err = p.kill()
		pause(ctx, l.Rest)
	}
	return err
}

// bury makes sure that the process is gone, and keeps what it said.
func (r *run) bury(p *process) error {
	err := p.kill()
	if strings.Contains(p.words(), inject.LastWords) {
		r.ended++
	}
	name := filepath.Join(r.dir, "process-"+strconv.Itoa(p.number)+".log")
	return errors.Join(err, os.WriteFile(name, []byte(p.words()), 0o600))
}

// endOf lets the life come to its end.
func (r *run) endOf(ctx context.Context, l *Life, p *process) error {
	lights := make(chan struct{})
	defer func() { <-lights }()
	dimmed, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		defer close(lights)
		if l.Dark > 0 && pause(dimmed, l.After/2) {
			r.wire.darken(true)
			pause(dimmed, l.Dark)
			r.wire.darken(false)
		}
	}()
	switch l.End {
	case Killed:
		pause(ctx, l.After)
	case Crashed:
		r.upThen(ctx, p, l.After)
	case Stopped:
		r.upThen(ctx, p, l.After)
		return r.stop(ctx, l, p)
	case Overtaken:
		r.upThen(ctx, p, l.After)
		return r.overtake(ctx, l, p)
	case Rebooted:
		r.upThen(ctx, p, l.After)
		return r.reboot(ctx, p)
	}
	return nil
}

// upThen waits until the process is up and then for d, or until it is gone. That it never
// comes up is found by whoever needs it.
func (r *run) upThen(ctx context.Context, p *process, d time.Duration) {
	if p.await(ctx, startPatience) == nil {
		_ = p.wait(ctx, nil, d, "") // it is still there: as it should be
	}
}

// stop asks the process to end. Without faults it must do so, and well.
func (r *run) stop(ctx context.Context, l *Life, p *process) error {
	if err := p.signal(syscall.SIGTERM); err != nil {
		return err
	}
	if l.Network+l.Deaf+l.Late+l.Plan.StoreFaults == 0 && l.Dark == 0 {
		if err := p.end(ctx, endPatience); err != nil {
			return p.explain(err)
		}
		if p.err != nil && !l.Replay {
			return fmt.Errorf("the node was asked to stop: %w", p.err)
		}
		return nil
	}
	_ = p.end(ctx, time.Second) // with faults it may be held up, and is killed
	return nil
}

// overtake starts a second process while the first is frozen, and wakes the first: it must
// find out by itself and end.
func (r *run) overtake(ctx context.Context, l *Life, p *process) (err error) {
	if p.gone() {
		return nil // by a fault at its start
	}
	if err := p.signal(syscall.SIGSTOP); err != nil {
		return err
	}
	data := "state"
	if !l.SameData {
		data = "state-of-the-second"
	}
	second, err := r.spawn(false, inject.Plan{}, data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.bury(second)) }()
	// A frozen process may hold the lock of the checkpoint folder, and none can start meanwhile.
	if second.await(ctx, frozen) != nil {
		return errors.Join(p.signal(syscall.SIGCONT), r.eitherEnds(ctx, p, second))
	}
	if err := p.signal(syscall.SIGCONT); err != nil {
		return err
	}
	if second.gone() && l.Network > 0 {
		return nil // it met a fault at its start, and overtook nobody
	}
	if err := p.end(ctx, startPatience); err != nil {
		return p.explain(fmt.Errorf("a process that was overtaken did not give way: %w", err))
	}
	if second.gone() && l.Network == 0 && l.Dark == 0 {
		return fmt.Errorf("the second process gave way to the first: %w\n%s", second.err, second.words())
	}
	return nil
}

// frozen is how long the first process sleeps at most while the second starts.
const frozen = 3 * time.Second

// eitherEnds waits until one of two processes that run at once has given way.
func (r *run) eitherEnds(ctx context.Context, p, second *process) error {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	select {
	case <-p.over:
		return nil
	case <-second.over:
		return nil
	case <-ctx.Done():
		return errors.Join(p.explain(fmt.Errorf("neither of two processes gave way: %w", errStuck)), second.explain(errStuck))
	}
}

// reboot takes the broker down and up again under the process.
func (r *run) reboot(ctx context.Context, p *process) error {
	r.wire.darken(true)
	defer r.wire.darken(false)
	if err := r.broker.stop(); err != nil {
		return fmt.Errorf("stop the broker: %w", err)
	}
	address, err := r.broker.start(ctx, r.wire.address())
	if err != nil {
		return fmt.Errorf("start the broker again: %w", err)
	}
	if address != r.address {
		return fmt.Errorf("the broker came back at %s, it was at %s", address, r.address)
	}
	r.wire.darken(false)
	_ = p.end(ctx, time.Second) // it goes on, and is killed
	return nil
}

// again sends all events once more.
func (r *run) again(ctx context.Context) error {
	files, err := events.Open([]string{r.material.file})
	if err != nil {
		return err
	}
	defer files.Close()
	return (&feeding{world: r.world, files: files}).send(ctx, r.s.Events)
}

// finish sends what is left and lets a process without faults do the rest.
func (r *run) finish(ctx context.Context) (*process, error) {
	if err := r.feeding.send(ctx, r.s.Events); err != nil {
		return nil, fmt.Errorf("send events: %w", err)
	}
	if r.s.Again {
		if err := r.again(ctx); err != nil {
			return nil, fmt.Errorf("send all events again: %w", err)
		}
	}
	p, err := r.spawn(true, inject.Plan{}, "state")
	if err != nil {
		return nil, err
	}
	if err = p.end(ctx, endPatience); err != nil {
		err = p.explain(err)
	} else {
		err = p.err
	}
	if buried := r.bury(p); err != nil || buried != nil {
		return nil, fmt.Errorf("%w\n%s", errors.Join(err, buried), p.words())
	}
	return p, nil
}
