package host

import (
	"fmt"
	"log/slog"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"taximeter/actors/partition"
	"taximeter/actors/trip"
	"taximeter/schemas"
)

// step is the one message of a trip's actor: run a step and leave the outcome here. The
// owner reuses one step for all trips: nothing is allocated per event.
type step struct {
	env   *trip.Env
	event *schemas.Event // nil = advance to the watermark

	verdict  schemas.Verdict
	panicked string // the panic and its stack; "" = none
}

// tripActor is the virtual actor of one trip: it lives while the trip is in memory.
type tripActor struct{ state *trip.State }

func (a *tripActor) Receive(ctx actor.Context) {
	s, ok := ctx.Message().(*step)
	switch {
	case !ok: // started, stopping, stopped
	case s.event == nil:
		a.state.Advance(s.env)
	default:
		s.verdict = a.state.Take(s.env, s.event)
	}
}

// tripContext is the context of a trip's actor, as much of it as is used here.
type tripContext interface {
	actor.MessageInvoker
	ReceiveTimeout() time.Duration
}

// mailbox runs each message at once in the goroutine that posts it, which is the owner's.
// A panic goes to the supervisor as usual; the owner answers that the trip goes on with
// the state it has, so suspending it in between would only lose events.
type mailbox struct {
	invoker tripContext
	pid     *actor.PID
}

func (m *mailbox) PostUserMessage(message any) {
	defer func() {
		if r := recover(); r != nil {
			if s, ok := message.(*step); ok {
				s.panicked = fmt.Sprintf("%v\n%s", r, debug.Stack())
			}
			m.invoker.EscalateFailure(r, message)
		}
	}()
	m.invoker.InvokeUserMessage(message)
}

func (m *mailbox) PostSystemMessage(message any) {
	switch message.(type) {
	case *actor.SuspendMailbox, *actor.ResumeMailbox:
	default:
		m.invoker.InvokeSystemMessage(message)
	}
}

func (m *mailbox) RegisterHandlers(invoker actor.MessageInvoker, _ actor.Dispatcher) {
	m.invoker = invoker.(tripContext)
}
func (m *mailbox) Start()                {}
func (m *mailbox) UserMessageCount() int { return 0 }

// trips runs the trips of one owner through their actors. It is the partition's Runner.
type trips struct {
	ctx    actor.Context // the owner's
	props  *actor.Props  // of every trip; makes the actor and the mailbox of born
	born   *cell         // the one being spawned
	lives  int64         // actors spawned so far
	log    *slog.Logger
	step   step
	looked time.Duration // by Look; means nothing
}

// cell is what a trip's actor consists of, in one object: there may be a million.
type cell struct {
	mailbox
	tripActor
}

func newTrips(owner actor.Context, log *slog.Logger) *trips {
	t := &trips{ctx: owner, log: log}
	t.props = actor.PropsFromProducer(func() actor.Actor { return &t.born.tripActor },
		actor.WithMailbox(func() actor.Mailbox { return &t.born.mailbox }))
	return t
}

// post runs one step of a trip in its actor, which begins to live now if it did not yet.
func (t *trips) post(s *partition.Slot) {
	m, ok := s.Actor.(*mailbox)
	if !ok {
		m = t.spawn(s)
	}
	m.PostUserMessage(&t.step)
}

func (t *trips) spawn(s *partition.Slot) *mailbox {
	t.born = &cell{tripActor: tripActor{s.Trip}}
	// Each life has a name of its own: the notice of an earlier life's end comes later than
	// the next life may begin. A number, because a name with the trip's id would be its third copy.
	t.lives++
	pid, err := t.ctx.SpawnNamed(t.props, strconv.FormatInt(t.lives, 36))
	if err != nil {
		panic(fmt.Sprintf("trip %q lives twice under one owner: %v", s.ID(), err))
	}
	m := &t.born.mailbox
	m.pid = pid
	s.Actor = m
	return m
}

func (t *trips) Take(s *partition.Slot, env *trip.Env, e *schemas.Event) (schemas.Verdict, string) {
	t.step = step{env: env, event: e}
	t.post(s)
	if t.step.panicked != "" {
		t.log.Error("a trip panicked on an event; the event is a dead letter, the trip goes on", "trip", s.ID(), "reason", t.step.panicked)
	}
	return t.step.verdict, t.step.panicked
}

func (t *trips) Advance(s *partition.Slot, env *trip.Env) string {
	t.step = step{env: env}
	t.post(s)
	if t.step.panicked != "" {
		t.log.Error("a trip panicked on a timer; it goes on with its next event", "trip", s.ID(), "reason", t.step.panicked)
	}
	return t.step.panicked
}

// Look reads a line of the actor's context, which is in the way of each message.
func (t *trips) Look(s *partition.Slot) {
	if m, ok := s.Actor.(*mailbox); ok {
		t.looked ^= m.invoker.ReceiveTimeout()
	}
}

// Evict ends the actor of a trip that leaves memory.
func (t *trips) Evict(s *partition.Slot) {
	if m, ok := s.Actor.(*mailbox); ok {
		t.ctx.Stop(m.pid)
		s.Actor = nil
	}
}
