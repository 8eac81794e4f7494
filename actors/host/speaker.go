package host

import (
	"context"
	"log/slog"
	"time"

	"taximeter/checkpoint"
	"taximeter/schemas"
)

// SpeakerSpec is all that a Speaker needs.
type SpeakerSpec struct {
	Partition schemas.Partition
	// Publisher and Alerts connect and fence all earlier connections of their kind.
	Publisher func(ctx context.Context) (Publisher, error)
	Alerts    func(ctx context.Context) (AlertSender, error)
	// Confirm re-reads the chain: the partition's entry if this run is still the tip's, else
	// ErrRevoked.
	Confirm func(ctx context.Context) (checkpoint.Entry, error)
	// Outbox reads what a pending reference cites.
	Outbox func(ctx context.Context, ref checkpoint.OutboxRef) (schemas.Outbox, error)
	// Revoked hears that another run owns the partition now; maybe twice.
	Revoked func()
	Log     *slog.Logger
}

// Speaker sends everything that one run of a partition has to say: committed outboxes on
// one line, alerts on another, so that no alert waits behind an outbox.
type Speaker struct {
	results publishing
	alerts  alerting
}

// resultsPatience is how long outboxes, which are seconds old at best, let the alerts go before
// them: a partition stands still until those are opened.
const resultsPatience = time.Second

// NewSpeaker starts sending for the run whose entry this is.
func NewSpeaker(spec SpeakerSpec, e checkpoint.Entry) *Speaker {
	common := line{partition: spec.Partition, confirm: spec.Confirm, revoked: spec.Revoked, log: spec.Log}
	s := &Speaker{
		results: publishing{line: common, dial: spec.Publisher, outbox: spec.Outbox, pending: e.Pending},
		alerts:  alerting{line: common, dial: spec.Alerts, logNext: e.Alerts.LogNext},
	}
	s.alerts.begin()
	s.results.begin(s.alerts.opened)
	return s
}

// Close ends the sending; what was not sent stays in the chain.
func (s *Speaker) Close() {
	s.results.close()
	s.alerts.close()
}

// Opened is closed when the line of alerts has been opened once: then Sent tells what was sent before. No start
// waits for the results: replay and sealing may run before they can be sent.
func (s *Speaker) Opened() <-chan struct{} { return s.alerts.opened }

// ResultsOpened is closed when the line of results has been opened once: nothing of earlier runs becomes public any more.
func (s *Speaker) ResultsOpened() <-chan struct{} { return s.results.opened }

// Opening is how long the parts of the opening of alerts took. Valid once Opened is closed.
func (s *Speaker) Opening() Opening { return s.alerts.took }

// Sent is the alerts that earlier runs had sent at or after the entry's log position, in
// the order in which they were sent, and the position after them. Valid once Opened is closed and before Alerts is called.
func (s *Speaker) Sent() (sent []schemas.SentAlert, logNext schemas.Offset) {
	return s.alerts.sent, s.alerts.logNext
}

// Published is the newest manifest number whose outbox is known to be public.
func (s *Speaker) Published() checkpoint.Number {
	return checkpoint.Number(s.results.published.Load())
}

// Unpublished is how many outboxes of committed checkpoints are not known to be public.
func (s *Speaker) Unpublished() int { return s.results.unpublished() }

// Pending replaces what waits to be published by what the chain says.
func (s *Speaker) Pending(refs []checkpoint.OutboxRef) {
	s.results.set(refs)
	s.results.poke()
}

// Alerts hands alerts over; done runs once they are durable, with the log position after
// them. One call at a time.
func (s *Speaker) Alerts(alerts []schemas.Alert, done func(logNext schemas.Offset)) {
	s.alerts.hand(&lot{alerts, done})
}
