package node

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"taximeter/actors/host"
	"taximeter/checkpoint"
	"taximeter/schemas"
)

// silent is a line of alerts that has never sent any.
type silent struct{}

func (silent) AlertsSince(context.Context, schemas.Offset) ([]schemas.SentAlert, schemas.Offset, error) {
	return nil, 0, nil
}
func (silent) SendAlerts(context.Context, []schemas.Alert) (schemas.Offset, error) { return 0, nil }
func (silent) Settle(context.Context) error                                        { return nil }
func (silent) Close()                                                              {}

// What is public of the line that a restore left behind is read when the publisher of that line is fenced, also when
// the chain knows of nothing to publish: what it is just sending would else become public unseen.
func TestWhatIsPublicIsReadBehindTheFence(t *testing.T) {
	run := &task{node: &Node{log: slog.New(slog.DiscardHandler)}, ctx: t.Context()} // without Kafka: it cannot be asked
	run.speaker = host.NewSpeaker(host.SpeakerSpec{
		Publisher: func(ctx context.Context) (host.Publisher, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
		Alerts:  func(context.Context) (host.AlertSender, error) { return silent{}, nil },
		Confirm: func(context.Context) (checkpoint.Entry, error) { return checkpoint.Entry{}, nil },
		Revoked: func() {},
		Log:     run.node.log,
	}, checkpoint.Entry{})
	t.Cleanup(run.speaker.Close)
	<-run.speaker.Opened()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := run.leftBehind(ctx, checkpoint.Entry{Abandoned: &checkpoint.Abandoned{}}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("it does not wait: %v", err)
	}
}
