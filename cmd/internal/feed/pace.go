package feed

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"taximeter/schemas"
	"taximeter/schemas/edge"
)

// Speed is how many times as fast as it was recorded a recording is sent; 0 = as fast as
// it can be.
type Speed float64

// ParseSpeed reads a number above 0, or "max".
func ParseSpeed(text string) (Speed, error) {
	if text == "max" {
		return 0, nil
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n > 0 && n <= 1e9) {
		return 0, fmt.Errorf("no speed: %q; give a number above 0 (1 = as recorded, 60 = a minute in a second) or max", text)
	}
	return Speed(n), nil
}

// ToNow is by how much the events of a recording are moved so that it happens now, sent at
// this speed, without any of them lying ahead of the clock: at speed 1 or less it begins
// now, faster it ends when it has been sent.
func (s Speed) ToNow(first, last, now schemas.Millis) schemas.Millis {
	begin := now
	switch {
	case s == 0:
		begin -= last - first
	case s > 1:
		begin -= schemas.Millis(float64(last-first) * (1 - 1/float64(s)))
	}
	return begin - first
}

// Pacer waits as long between events as they lay apart.
type Pacer struct {
	speed  Speed
	began  time.Time
	first  schemas.Millis // pace instant at began; NoTime = no event yet
	newest schemas.Millis // greatest pace instant so far
	last   schemas.Millis // instant of the event before
}

// NewPacer starts with the first event given to Wait.
func NewPacer(speed Speed) *Pacer {
	return &Pacer{speed: speed, first: schemas.NoTime, newest: schemas.NoTime, last: schemas.NoTime}
}

// Wait returns when the event is due. Late events are due at once. An instant counts when
// the next one is not before it, so that a single wrong clock does not stop everything.
func (p *Pacer) Wait(ctx context.Context, l *edge.Line) error {
	if p.speed == 0 {
		return ctx.Err()
	}
	at := l.AppendedAt
	if at == schemas.NoTime {
		at = l.EventTime()
	}
	if at < schemas.MinInstant {
		return ctx.Err()
	}
	confirmed := min(p.last, at)
	p.last = at
	switch {
	case confirmed == schemas.NoTime:
		return ctx.Err()
	case p.first == schemas.NoTime:
		p.began, p.first, p.newest = time.Now(), confirmed, confirmed
	}
	p.newest = max(p.newest, confirmed)
	due := p.began.Add(time.Duration(float64(p.newest-p.first) / float64(p.speed) * float64(time.Millisecond)))
	wait := time.Until(due)
	if wait <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
