package host

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"taximeter/checkpoint"
	"taximeter/schemas"
)

// ErrRevoked is a run that is no longer the chain's: it must send nothing.
var ErrRevoked = errors.New("another run owns the partition")

// line keeps one fenced connection of one run open and does its work, one thing at a time,
// in the protocol's order: connect (which fences all earlier ones), confirm by the chain,
// read back what is known to be sent, and only then send. Any error begins that order anew,
// after a pause, with a new connection.
type line struct {
	name      string // in log lines
	partition schemas.Partition
	confirm   func(ctx context.Context) (checkpoint.Entry, error)
	revoked   func()
	log       *slog.Logger

	// connect opens, and hangUp lets go of, the connection. readBack learns what was sent.
	connect  func(ctx context.Context) error
	hangUp   func()
	readBack func(ctx context.Context, e checkpoint.Entry) error
	// next does the next thing there is to do, if any.
	next func(ctx context.Context) (worked bool, err error)
	// settle looks after what was done last while there is nothing to do.
	settle func(ctx context.Context) error

	after   <-chan struct{} // another's opened, which has the first second; nil = it has none before it
	wake    chan struct{}   // one slot
	opened  chan struct{}   // closed when the order was gone through once
	took    Opening         // then
	stopped chan struct{}
	stop    context.CancelFunc
}

func (l *line) start() {
	ctx, cancel := context.WithCancel(context.Background())
	l.wake, l.opened, l.stopped, l.stop = make(chan struct{}, 1), make(chan struct{}), make(chan struct{}), cancel
	go l.run(ctx)
}

// close ends the work and waits for it.
func (l *line) close() {
	l.stop()
	<-l.stopped
}

// poke tells that there may be something to do.
func (l *line) poke() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

const (
	firstPause = 200 * time.Millisecond
	lastPause  = 10 * time.Second
	// settlePause is how long a line has had nothing to do when it settles first; then twice as long each time,
	// up to lastPause.
	settlePause = time.Second
)

func (l *line) run(ctx context.Context) {
	defer close(l.stopped)
	if l.after != nil {
		select {
		case <-l.after:
		case <-time.After(resultsPatience):
		case <-ctx.Done():
		}
	}
	pause := firstPause
	for ctx.Err() == nil {
		err := l.open(ctx)
		for err == nil {
			if err = l.work(ctx); err == nil {
				pause = firstPause
			}
		}
		l.hangUp()
		switch {
		case ctx.Err() != nil:
		case errors.Is(err, ErrRevoked):
			l.revoked()
			return
		default:
			l.log.Warn("cannot send "+l.name+"; trying again", "partition", l.partition, "err", err, "pause", pause)
			sleep(ctx, pause)
			pause = min(2*pause, lastPause)
		}
	}
}

// Opening is how long each step of an opening took.
type Opening struct{ Connected, Confirmed, ReadBack time.Duration }

func (l *line) open(ctx context.Context) error {
	began := time.Now()
	if err := l.connect(ctx); err != nil {
		return err
	}
	connected := time.Now()
	e, err := l.confirm(ctx)
	if err != nil {
		return err
	}
	confirmed := time.Now()
	if err := l.readBack(ctx, e); err != nil {
		return err
	}
	select {
	case <-l.opened:
	default:
		l.took = Opening{connected.Sub(began), confirmed.Sub(connected), time.Since(confirmed)}
		close(l.opened)
	}
	return nil
}

// work does one thing, or waits until there is one.
func (l *line) work(ctx context.Context) error {
	worked, err := l.next(ctx)
	if err != nil || worked {
		return err
	}
	for pause := settlePause; ; pause = min(2*pause, lastPause) {
		select {
		case <-l.wake:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
			if err := l.settle(ctx); err != nil {
				return err
			}
		}
	}
}

func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
