package webhook

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/schemas"
)

// The pauses between attempts at a channel that fails: doubled from the first to the last,
// each shortened by up to half at random.
const (
	firstPause = 500 * time.Millisecond
	lastPause  = 30 * time.Second
)

// item is one alert on its way. It is done when every channel that it went to has it.
type item struct {
	record *kgo.Record
	alert  schemas.Alert
	taken  time.Time // by this process; the budget counts from here
	left   int       // channels that do not have it; the partition's mu guards it
}

// lane takes the alerts of one partition to one channel, one after the other.
type lane struct {
	channel *channel
	queue   chan *item
	part    *partition
	out     outcomes
	log     *slog.Logger
	undone  int // alerts taken off the queue when run ended too early for them

	// Of a channel that fails.
	fault   error // why; nil = the last attempt was answered
	retryAt time.Time
	pause   time.Duration
}

// outcomes is what a lane reports to.
type outcomes interface {
	// delivered is told before the offset may move.
	delivered(c *channel, it *item)
	// undelivered writes the alert down for people to look at; an error leaves it undone.
	undelivered(ctx context.Context, c *channel, it *item, reason string, why error) error
	failed(c *channel)
}

// run ends with ctx, between two attempts.
func (l *lane) run(ctx context.Context) {
	defer func() {
		if l.fault != nil {
			l.channel.failing.Add(-1)
		}
	}()
	for {
		select {
		case it := <-l.queue:
			if !l.deliver(ctx, it) {
				l.undone = 1
				return
			}
			l.part.done(it)
		case <-ctx.Done():
			return
		}
	}
}

// deliver ends when the channel has the alert or it was given up; false = ctx ended first.
func (l *lane) deliver(ctx context.Context, it *item) bool {
	for {
		overdue := it.taken.Add(l.part.budget)
		if l.fault != nil {
			if !sleep(ctx, min(time.Until(l.retryAt), time.Until(overdue)), l.part.pressed()) {
				return false
			}
			if time.Now().Before(l.retryAt) {
				return l.giveUp(ctx, it, reasonBudget, l.fault)
			}
		} else if ctx.Err() != nil {
			return false
		}
		// An attempt under way is finished: cut off, it would be made again by whoever is next.
		err := l.channel.post(context.WithoutCancel(ctx), &it.alert, time.Now())
		if err == nil {
			l.recovered()
			l.out.delivered(l.channel, it)
			return true
		}
		if _, refused := errors.AsType[refusedError](err); refused {
			l.recovered()
			return l.giveUp(ctx, it, reasonRefused, err)
		}
		l.broken(err)
		if !time.Now().Before(overdue) {
			return l.giveUp(ctx, it, reasonBudget, err)
		}
	}
}

func (l *lane) giveUp(ctx context.Context, it *item, reason string, why error) bool {
	return l.out.undelivered(ctx, l.channel, it, reason, why) == nil
}

// broken notes a failed attempt and when the next is due.
func (l *lane) broken(err error) {
	l.out.failed(l.channel)
	if l.fault == nil && l.channel.failing.Add(1) == 1 {
		l.log.Warn("alert channel fails; its alerts wait", "channel", l.channel.Name, "err", err)
	}
	l.fault = err
	l.pause = min(max(2*l.pause, firstPause), lastPause)
	pause := l.pause/2 + rand.N(l.pause/2)
	if busy, ok := errors.AsType[busyError](err); ok {
		pause = max(pause, busy.after)
	}
	l.retryAt = time.Now().Add(pause)
}

// recovered notes that the channel answers.
func (l *lane) recovered() {
	if l.fault != nil && l.channel.failing.Add(-1) == 0 {
		l.log.Info("alert channel answers again", "channel", l.channel.Name)
	}
	l.fault, l.pause = nil, 0
}

// sleep ends early when hurry is closed; false = ctx ended.
func sleep(ctx context.Context, d time.Duration, hurry <-chan struct{}) bool {
	timer := time.NewTimer(max(d, 0))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-hurry:
	case <-ctx.Done():
		return false
	}
	return true
}
