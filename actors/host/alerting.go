package host

import (
	"context"
	"fmt"
	"sync"

	"taximeter/checkpoint"
	"taximeter/schemas"
)

// AlertSender is a fenced connection for alerts. After an error it is unknown whether they
// were sent: only a new connection's AlertsSince tells.
type AlertSender interface {
	// AlertsSince reads the log of sent alerts from a position on, and the position after.
	AlertsSince(ctx context.Context, from schemas.Offset) (sent []schemas.SentAlert, next schemas.Offset, err error)
	// SendAlerts sends alerts and their ids in one transaction, and gives the log position after it.
	SendAlerts(ctx context.Context, alerts []schemas.Alert) (next schemas.Offset, err error)
	// Settle finds out whether what was sent has reached its readers, and asks nobody once it has. It is called now and
	// then while there is nothing to send; after an error a new connection sees to it.
	Settle(ctx context.Context) error
	Close()
}

// alerting sends the alerts that the owner hands over, a lot at a time.
type alerting struct {
	line
	dial func(ctx context.Context) (AlertSender, error)

	// Of the sending goroutine.
	to      AlertSender         // nil = none
	sent    []schemas.SentAlert // found in the log at the last opening, in its order
	sentIDs map[string]bool     // theirs
	logNext schemas.Offset      // where reading back begins
	readTo  schemas.Offset      // where it ended the last time

	mu  sync.Mutex // guards lot
	lot *lot
}

// lot is the alerts handed over and not yet durable.
type lot struct {
	alerts []schemas.Alert
	done   func(logNext schemas.Offset)
}

func (a *alerting) begin() {
	a.name = "alerts"
	a.connect = func(ctx context.Context) error {
		to, err := a.dial(ctx)
		if err == nil {
			a.to = to
		}
		return err
	}
	a.hangUp = func() {
		if a.to != nil {
			a.to.Close()
			a.to = nil
		}
	}
	a.readBack = func(ctx context.Context, _ checkpoint.Entry) error {
		sent, next, err := a.to.AlertsSince(ctx, a.logNext)
		if err != nil {
			return fmt.Errorf("read the log of alerts: %w", err)
		}
		a.readTo, a.sent, a.sentIDs = next, sent, make(map[string]bool, len(sent))
		for _, alert := range sent {
			a.sentIDs[alert.AlertID] = true
		}
		if a.waiting() == nil {
			a.logNext = next // nothing is unacknowledged
		}
		return nil
	}
	a.next = a.sendLot
	a.settle = func(ctx context.Context) error { return a.to.Settle(ctx) }
	a.start()
}

func (a *alerting) hand(l *lot) {
	a.mu.Lock()
	a.lot = l
	a.mu.Unlock()
	a.poke()
}

func (a *alerting) waiting() *lot {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.lot
}

// sendLot sends the alerts handed over, less those found to be sent already.
func (a *alerting) sendLot(ctx context.Context) (bool, error) {
	l := a.waiting()
	if l == nil {
		return false, nil
	}
	rest := make([]schemas.Alert, 0, len(l.alerts))
	for _, alert := range l.alerts {
		if !a.sentIDs[alert.AlertID] {
			rest = append(rest, alert)
		}
	}
	next := a.readTo // all of them were in the log
	if len(rest) > 0 {
		var err error
		if next, err = a.to.SendAlerts(ctx, rest); err != nil {
			return false, err
		}
	}
	a.mu.Lock()
	a.lot = nil
	a.mu.Unlock()
	a.logNext = max(a.logNext, next)
	l.done(a.logNext)
	return true, nil
}
