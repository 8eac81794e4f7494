package host_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"taximeter/actors/host"
	"taximeter/checkpoint"
	"taximeter/schemas"
)

type refusing struct{ publisher }

func (refusing) Publish(context.Context, checkpoint.Number, schemas.Outbox) error {
	return errors.New("refused at once")
}

// A line that opens well and cannot send calls ever less often: each opening takes an epoch.
func TestALineThatCannotSendBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &topics{}
		opens := 0
		s := host.NewSpeaker(host.SpeakerSpec{
			Publisher: func(context.Context) (host.Publisher, error) { opens++; return refusing{publisher{w}}, nil },
			Alerts:    func(context.Context) (host.AlertSender, error) { return sender{w}, nil },
			Confirm:   func(context.Context) (checkpoint.Entry, error) { return checkpoint.Entry{Pending: pending(1)}, nil },
			Outbox: func(context.Context, checkpoint.OutboxRef) (o schemas.Outbox, err error) {
				o.Bills = make([]schemas.Bill, 1)
				return o, nil
			},
			Revoked: func() {},
			Log:     slog.New(slog.DiscardHandler),
		}, checkpoint.Entry{Pending: pending(1)})
		<-time.After(10 * time.Minute)
		s.Close()
		if opens > 70 {
			t.Errorf("%d connections in ten minutes", opens)
		}
	})
}
