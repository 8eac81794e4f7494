package host_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"taximeter/actors/host"
	"taximeter/checkpoint"
	"taximeter/schemas"
)

// topics is what is durable, and a record of every call in its order.
type topics struct {
	mu      sync.Mutex // guards all
	calls   []string
	marker  checkpoint.Number
	outputs []checkpoint.Number
	alerts  []string
	failing map[string]int // calls that fail, after their effect, so many times
	entry   checkpoint.Entry
	revoked bool
}

func (w *topics) call(name string, effect func()) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls = append(w.calls, name)
	effect()
	if w.failing[name] > 0 {
		w.failing[name]--
		return errors.New("answer lost")
	}
	return nil
}

type publisher struct{ w *topics }

func (p publisher) Marker(context.Context) (made checkpoint.Number, err error) {
	err = p.w.call("marker", func() { made = p.w.marker })
	return made, err
}
func (p publisher) Publish(_ context.Context, made checkpoint.Number, _ schemas.Outbox) error {
	return p.w.call("publish", func() { p.w.outputs, p.w.marker = append(p.w.outputs, made), made })
}
func (p publisher) Settle(context.Context) error { return p.w.call("settle", func() {}) }
func (p publisher) Close()                       {}

type sender struct{ w *topics }

func (s sender) AlertsSince(_ context.Context, from schemas.Offset) (sent []schemas.SentAlert, next schemas.Offset, err error) {
	err = s.w.call("since", func() {
		for _, id := range s.w.alerts[from:] {
			sent = append(sent, schemas.SentAlert{AlertID: id})
		}
		next = schemas.Offset(len(s.w.alerts))
	})
	return sent, next, err
}
func (s sender) SendAlerts(_ context.Context, alerts []schemas.Alert) (next schemas.Offset, err error) {
	err = s.w.call("alerts", func() {
		for _, a := range alerts {
			s.w.alerts = append(s.w.alerts, a.AlertID)
		}
		next = schemas.Offset(len(s.w.alerts))
	})
	return next, err
}
func (s sender) Settle(context.Context) error { return s.w.call("settle alerts", func() {}) }
func (s sender) Close()                       {}

func (w *topics) speaker(t *testing.T, e checkpoint.Entry) (*host.Speaker, chan struct{}) {
	w.entry = e
	revoked := make(chan struct{}, 2)
	s := host.NewSpeaker(host.SpeakerSpec{
		Publisher: func(context.Context) (host.Publisher, error) { return publisher{w}, w.call("open", func() {}) },
		Alerts:    func(context.Context) (host.AlertSender, error) { return sender{w}, w.call("open alerts", func() {}) },
		Confirm: func(context.Context) (e checkpoint.Entry, err error) {
			err = w.call("confirm", func() { e = w.entry })
			if w.revoked {
				err = host.ErrRevoked
			}
			return e, err
		},
		Outbox: func(_ context.Context, ref checkpoint.OutboxRef) (o schemas.Outbox, err error) {
			if ref.File.Key != "silent" {
				o.Bills = make([]schemas.Bill, 1)
			}
			return o, nil
		},
		Revoked: func() { revoked <- struct{}{} },
		Log:     slog.New(slog.DiscardHandler),
	}, e)
	t.Cleanup(s.Close)
	return s, revoked
}

func pending(made ...checkpoint.Number) (refs []checkpoint.OutboxRef) {
	for _, m := range made {
		refs = append(refs, checkpoint.OutboxRef{Made: m, File: checkpoint.File{Key: fmt.Sprint(m)}})
	}
	return refs
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !holds(); {
		if time.Now().After(deadline) {
			t.Fatal("never: " + what)
		}
		<-time.After(time.Millisecond)
	}
}

func TestNothingIsSentBeforeTheOrderOfAnOpening(t *testing.T) {
	w := &topics{marker: 4}
	s, _ := w.speaker(t, checkpoint.Entry{Pending: pending(3, 4, 6, 9)})
	eventually(t, "all published", func() bool { return s.Published() == 9 })
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Equal(w.outputs, []checkpoint.Number{6, 9}) {
		t.Errorf("published %v: the marker showed up to 4", w.outputs)
	}
	opened, marker, published := slices.Index(w.calls, "open"), slices.Index(w.calls, "marker"), slices.Index(w.calls, "publish")
	// The line of alerts, which opens beside, confirms too.
	if opened < 0 || marker < opened || published < marker || !slices.Contains(w.calls[opened:marker], "confirm") {
		t.Errorf("order %v: want open, confirm, marker, publish", w.calls)
	}
}

// A start waits for the alerts that were sent, and not for a publisher.
func TestAStartWaitsForNoResults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &topics{alerts: []string{"a"}}
		s := w.stuck(t, "open")
		<-s.Opened()
		if sent, next := s.Sent(); len(sent) != 1 || next != 1 {
			t.Errorf("sent %v up to %d", sent, next)
		}
	})
}

// Alerts go first, but results do not wait for ever.
func TestResultsAreNotHeldUpByAlerts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &topics{}
		s := w.stuck(t, "open alerts")
		began := time.Now()
		eventually(t, "published", func() bool { return s.Published() == 9 })
		if took := time.Since(began); took < time.Second {
			t.Errorf("results went out after %s, beside the alerts", took)
		}
	})
}

// stuck is a speaker one of whose lines does not come to be connected.
func (w *topics) stuck(t *testing.T, line string) *host.Speaker {
	connect := func(ctx context.Context, name string) error {
		if name == line {
			<-ctx.Done()
			return ctx.Err()
		}
		return w.call(name, func() {})
	}
	s := host.NewSpeaker(host.SpeakerSpec{
		Publisher: func(ctx context.Context) (host.Publisher, error) { return publisher{w}, connect(ctx, "open") },
		Alerts:    func(ctx context.Context) (host.AlertSender, error) { return sender{w}, connect(ctx, "open alerts") },
		Confirm:   func(context.Context) (checkpoint.Entry, error) { return checkpoint.Entry{Pending: pending(9)}, nil },
		Outbox: func(context.Context, checkpoint.OutboxRef) (schemas.Outbox, error) {
			return schemas.Outbox{Bills: make([]schemas.Bill, 1)}, nil
		},
		Revoked: func() {},
		Log:     slog.New(slog.DiscardHandler),
	}, checkpoint.Entry{})
	t.Cleanup(s.Close)
	return s
}

// An outbox with nothing for Kafka makes no transaction.
func TestASilentOutboxIsPassedOver(t *testing.T) {
	w := &topics{}
	refs := pending(1, 2, 3)
	refs[1].File.Key = "silent"
	s, _ := w.speaker(t, checkpoint.Entry{Pending: refs})
	eventually(t, "all published", func() bool { return s.Published() == 3 })
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Equal(w.outputs, []checkpoint.Number{1, 3}) {
		t.Errorf("published %v", w.outputs)
	}
}

// The answer to a publish is lost although it happened: the marker, read on a new
// connection, keeps it from being published again.
func TestALostAnswerPublishesNothingTwice(t *testing.T) {
	w := &topics{failing: map[string]int{"publish": 2}}
	s, _ := w.speaker(t, checkpoint.Entry{Pending: pending(1, 2, 3)})
	eventually(t, "all published", func() bool { return s.Published() == 3 })
	if !slices.Equal(w.outputs, []checkpoint.Number{1, 2, 3}) {
		t.Errorf("published %v", w.outputs)
	}
}

func TestWhatWasSentIsToldInTheLogsOrder(t *testing.T) {
	w := &topics{}
	for i := range 20 {
		w.alerts = append(w.alerts, strconv.Itoa(i))
	}
	s, _ := w.speaker(t, checkpoint.Entry{})
	<-s.Opened()
	sent, _ := s.Sent()
	for i, a := range sent {
		if a.AlertID != w.alerts[i] {
			t.Fatalf("number %d is %s: %v", i, a.AlertID, sent)
		}
	}
	if len(sent) != len(w.alerts) {
		t.Errorf("%d of %d were told", len(sent), len(w.alerts))
	}
}

// Bills that cannot be published are counted, and what is public is not, though the chain lists it for a while.
func TestWhatIsNotPublishedIsCounted(t *testing.T) {
	w := &topics{marker: 4, failing: map[string]int{"open": 1 << 30}}
	s, _ := w.speaker(t, checkpoint.Entry{Pending: pending(3, 5, 9)})
	eventually(t, "one attempt to connect", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return slices.Contains(w.calls, "open")
	})
	if n := s.Unpublished(); n != 3 {
		t.Errorf("%d before anything is known, want all 3", n)
	}
	w.mu.Lock()
	w.failing["open"] = 0
	w.entry.Pending = pending(3, 5, 9)
	w.mu.Unlock()
	eventually(t, "none waits", func() bool { return s.Unpublished() == 0 })
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Equal(w.outputs, []checkpoint.Number{5, 9}) {
		t.Errorf("none waits, and published are %v", w.outputs)
	}
}

func TestALostAnswerSendsNoAlertTwice(t *testing.T) {
	w := &topics{alerts: []string{"old"}, failing: map[string]int{"alerts": 1}}
	s, _ := w.speaker(t, checkpoint.Entry{})
	<-s.Opened()
	if sent, next := s.Sent(); !slices.Equal(sent, []schemas.SentAlert{{AlertID: "old"}}) || next != 1 {
		t.Errorf("sent before: %v, then %d", sent, next)
	}
	done := make(chan schemas.Offset, 1)
	s.Alerts([]schemas.Alert{{AlertID: "a"}, {AlertID: "b"}}, func(next schemas.Offset) { done <- next })
	// One too early would tell the next owner of facts from before the cut; one too late would lose ids.
	if next := <-done; next != 3 || !slices.Equal(w.alerts, []string{"old", "a", "b"}) {
		t.Errorf("log %v, position %d", w.alerts, next)
	}
}

func TestARevokedRunSendsNothing(t *testing.T) {
	w := &topics{revoked: true}
	s, revoked := w.speaker(t, checkpoint.Entry{Pending: pending(1)})
	<-revoked
	s.Close()
	if len(w.outputs) > 0 {
		t.Errorf("published %v", w.outputs)
	}
}

// An outbox that cannot be published does not hold up alerts.
func TestAlertsDoNotWaitForOutboxes(t *testing.T) {
	w := &topics{failing: map[string]int{"publish": 1 << 30}}
	s, _ := w.speaker(t, checkpoint.Entry{Pending: pending(1)})
	<-s.Opened()
	done := make(chan schemas.Offset, 1)
	s.Alerts([]schemas.Alert{{AlertID: "a"}}, func(next schemas.Offset) { done <- next })
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("the alert waits")
	}
}

// Whoever falls quiet looks after what was sent last; what does not settle is seen to by a new connection.
func TestAQuietLineSettles(t *testing.T) {
	for name, settle := range map[string]string{"open": "settle", "open alerts": "settle alerts"} {
		synctest.Test(t, func(t *testing.T) {
			w := &topics{failing: map[string]int{settle: 1}}
			s, _ := w.speaker(t, checkpoint.Entry{Pending: pending(1)})
			<-s.Opened()
			began := time.Now()
			count := func(call string) (n int) {
				w.mu.Lock()
				defer w.mu.Unlock()
				for _, c := range w.calls {
					if c == call {
						n++
					}
				}
				return n
			}
			eventually(t, "opened anew", func() bool { return count(name) == 2 })
			if took := time.Since(began); took > 2*time.Second {
				t.Errorf("%s: opened anew after %s", name, took)
			}
			<-time.After(time.Minute)
			if n := count(settle); n < 5 || n > 15 || count(name) != 2 {
				t.Errorf("%s: settled %d times in a minute, connected %d times", name, n, count(name))
			}
			s.Close()
		})
	}
}

// asked is a publisher that is asked for its marker until it may answer.
type asked struct {
	publisher
	began, may chan struct{}
}

func (a asked) Marker(ctx context.Context) (checkpoint.Number, error) {
	close(a.began)
	<-a.may
	return a.publisher.Marker(ctx)
}

// What a checkpoint brings while a line opens, which has read the chain before, is not forgotten.
func TestWhatIsCommittedDuringAnOpeningIsPublished(t *testing.T) {
	w := &topics{}
	to := asked{publisher{w}, make(chan struct{}), make(chan struct{})}
	s := host.NewSpeaker(host.SpeakerSpec{
		Publisher: func(context.Context) (host.Publisher, error) { return to, nil },
		Alerts:    func(context.Context) (host.AlertSender, error) { return sender{w}, nil },
		Confirm:   func(context.Context) (checkpoint.Entry, error) { return checkpoint.Entry{Pending: pending(3)}, nil },
		Outbox: func(context.Context, checkpoint.OutboxRef) (schemas.Outbox, error) {
			return schemas.Outbox{Bills: make([]schemas.Bill, 1)}, nil
		},
		Revoked: func() {},
		Log:     slog.New(slog.DiscardHandler),
	}, checkpoint.Entry{Pending: pending(3)})
	t.Cleanup(s.Close)
	<-to.began
	s.Pending(pending(3, 5))
	close(to.may)
	eventually(t, "both published", func() bool { return s.Published() == 5 })
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Equal(w.outputs, []checkpoint.Number{3, 5}) {
		t.Errorf("published %v", w.outputs)
	}
}
