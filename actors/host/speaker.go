package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"taximeter/checkpoint"
	"taximeter/schemas"
)

// Voice is one fenced connection to the output topics of one partition. After any error it
// is closed and a new one opened: what was sent is known only by reading it back.
type Voice interface {
	// Marker is the newest manifest number whose outbox is public; 0 = none.
	Marker(ctx context.Context) (checkpoint.Number, error)
	// Publish sends an outbox and its marker in one transaction.
	Publish(ctx context.Context, made checkpoint.Number, o schemas.Outbox) error
	// AlertsSince reads the ids in the log of sent alerts from a position on, and the position after.
	AlertsSince(ctx context.Context, from schemas.Offset) (ids []string, next schemas.Offset, err error)
	// SendAlerts sends alerts and their ids in one transaction, and gives the log position after it.
	SendAlerts(ctx context.Context, alerts []schemas.Alert) (next schemas.Offset, err error)
	Close()
}

// SpeakerSpec is all that a Speaker needs.
type SpeakerSpec struct {
	Partition schemas.Partition
	// Open makes a Voice and fences all earlier ones of the partition.
	Open func(ctx context.Context) (Voice, error)
	// Confirm re-reads the chain: the partition's entry if this run is still the tip's, else
	// ErrRevoked.
	Confirm func(ctx context.Context) (checkpoint.Entry, error)
	// Outbox reads what a pending reference cites.
	Outbox func(ctx context.Context, ref checkpoint.OutboxRef) (schemas.Outbox, error)
	// Revoked hears that another run owns the partition now.
	Revoked func()
	Log     *slog.Logger
}

// ErrRevoked is a run that is no longer the chain's: it must send nothing.
var ErrRevoked = errors.New("another run owns the partition")

// Speaker sends everything that one run of a partition has to say, one thing at a time, in
// the protocol's order: open (fence), confirm by the chain, read back, and only then send.
// Any error begins that order anew, after a pause.
type Speaker struct {
	spec      SpeakerSpec
	published atomic.Int64 // checkpoint.Number
	opened    chan struct{}
	once      sync.Once
	cancel    context.CancelFunc
	stopped   chan struct{}

	mu      sync.Mutex // guards what waits
	pending []checkpoint.OutboxRef
	lot     *lot
	wake    chan struct{} // one slot

	// Of the sending goroutine.
	voice   Voice
	sent    map[string]bool // alert ids found in the log at opening
	logNext schemas.Offset  // where reading back begins
}

// lot is the alerts handed over and not yet durable.
type lot struct {
	alerts []schemas.Alert
	done   func(logNext schemas.Offset)
}

// NewSpeaker starts sending for the run whose entry this is.
func NewSpeaker(spec SpeakerSpec, e checkpoint.Entry) *Speaker {
	ctx, cancel := context.WithCancel(context.Background())
	s := &Speaker{spec: spec, cancel: cancel, opened: make(chan struct{}), stopped: make(chan struct{}),
		pending: e.Pending, wake: make(chan struct{}, 1), logNext: e.Alerts.LogNext}
	go s.run(ctx)
	return s
}

// Close ends the sending; what was not sent stays pending in the chain.
func (s *Speaker) Close() {
	s.cancel()
	<-s.stopped
}

// Opened is closed when the first opening is done: then Sent tells what was sent before.
func (s *Speaker) Opened() <-chan struct{} { return s.opened }

// Sent is the alert ids that earlier runs had sent at or after the entry's log position,
// and the position after them. Valid once Opened is closed and before Alerts is called.
func (s *Speaker) Sent() (ids []string, logNext schemas.Offset) {
	for id := range s.sent {
		ids = append(ids, id)
	}
	return ids, s.logNext
}

// Published is the newest manifest number whose outbox is known to be public.
func (s *Speaker) Published() checkpoint.Number { return checkpoint.Number(s.published.Load()) }

// Pending replaces what waits to be published by what the chain says.
func (s *Speaker) Pending(refs []checkpoint.OutboxRef) {
	s.mu.Lock()
	s.pending = refs
	s.mu.Unlock()
	s.poke()
}

// Alerts hands alerts over; done runs once they are durable, with the log position after
// them. One call at a time.
func (s *Speaker) Alerts(alerts []schemas.Alert, done func(logNext schemas.Offset)) {
	s.mu.Lock()
	s.lot = &lot{alerts, done}
	s.mu.Unlock()
	s.poke()
}

func (s *Speaker) poke() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

const (
	firstPause = 200 * time.Millisecond
	lastPause  = 10 * time.Second
)

func (s *Speaker) run(ctx context.Context) {
	defer close(s.stopped)
	defer s.hangUp()
	pause := firstPause
	for ctx.Err() == nil {
		worked, err := s.work(ctx)
		switch {
		case errors.Is(err, ErrRevoked):
			s.spec.Revoked()
			return
		case err != nil:
			if ctx.Err() == nil {
				s.spec.Log.Warn("cannot send; trying again", "partition", s.spec.Partition, "err", err, "pause", pause)
			}
			s.hangUp()
			s.sleep(ctx, pause)
			pause = min(2*pause, lastPause)
		case worked:
			pause = firstPause
		default:
			select {
			case <-s.wake:
			case <-ctx.Done():
			}
		}
	}
}

func (s *Speaker) sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

func (s *Speaker) hangUp() {
	if s.voice != nil {
		s.voice.Close()
		s.voice = nil
	}
}

// work does the next thing there is to do: open, then alerts, then the oldest outbox.
func (s *Speaker) work(ctx context.Context) (worked bool, err error) {
	if s.voice == nil {
		return true, s.open(ctx)
	}
	if sent, err := s.sendLot(ctx); sent || err != nil {
		return sent, err
	}
	return s.publishNext(ctx)
}

// open is the protocol's order for every new client, first or after any error.
func (s *Speaker) open(ctx context.Context) error {
	voice, err := s.spec.Open(ctx)
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	s.voice = voice
	e, err := s.spec.Confirm(ctx)
	if err != nil {
		return fmt.Errorf("confirm by the chain: %w", err)
	}
	marker, err := voice.Marker(ctx)
	if err != nil {
		return fmt.Errorf("read the marker: %w", err)
	}
	ids, next, err := voice.AlertsSince(ctx, s.logNext)
	if err != nil {
		return fmt.Errorf("read the log of alerts: %w", err)
	}
	s.sent = make(map[string]bool, len(ids))
	for _, id := range ids {
		s.sent[id] = true
	}
	s.mu.Lock()
	s.pending = e.Pending
	first := s.lot == nil
	s.mu.Unlock()
	if first {
		s.logNext = next
	}
	s.published.Store(int64(marker))
	s.once.Do(func() { close(s.opened) })
	return nil
}

// sendLot sends the alerts handed over, less those found to be sent already.
func (s *Speaker) sendLot(ctx context.Context) (bool, error) {
	s.mu.Lock()
	l := s.lot
	s.mu.Unlock()
	if l == nil {
		return false, nil
	}
	rest := make([]schemas.Alert, 0, len(l.alerts))
	for _, a := range l.alerts {
		if !s.sent[a.AlertID] {
			rest = append(rest, a)
		}
	}
	next := s.logNext
	if len(rest) > 0 {
		var err error
		if next, err = s.voice.SendAlerts(ctx, rest); err != nil {
			return false, fmt.Errorf("send %d alerts: %w", len(rest), err)
		}
	}
	s.mu.Lock()
	s.lot = nil
	s.mu.Unlock()
	s.logNext = max(s.logNext, next)
	l.done(s.logNext)
	return true, nil
}

// publishNext publishes the oldest pending outbox, if there is one.
func (s *Speaker) publishNext(ctx context.Context) (bool, error) {
	s.mu.Lock()
	var ref *checkpoint.OutboxRef
	for i := range s.pending {
		if s.pending[i].Made > s.Published() {
			ref = &s.pending[i]
			break
		}
	}
	s.mu.Unlock()
	if ref == nil {
		return false, nil
	}
	o, err := s.spec.Outbox(ctx, *ref)
	if err != nil {
		return false, fmt.Errorf("outbox %d: %w", ref.Made, err)
	}
	if err := s.voice.Publish(ctx, ref.Made, o); err != nil {
		return false, fmt.Errorf("publish outbox %d: %w", ref.Made, err)
	}
	s.published.Store(int64(ref.Made))
	return true, nil
}
