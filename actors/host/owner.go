package host

import (
	"fmt"
	"iter"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"taximeter/actors/partition"
	"taximeter/actors/rule"
	"taximeter/actors/tariff"
	"taximeter/actors/trip"
	"taximeter/checkpoint"
	"taximeter/schemas"
)

// Source is what the owner asks of the consumer of its partition.
type Source interface {
	// Status tells, for each input topic, whether all before next was all there is, and when
	// the broker last said so.
	Status(next [schemas.NumInputs]schemas.Offset) [schemas.NumInputs]partition.SourceStatus
	// Hold stops (or lets go on) the delivery of one topic.
	Hold(t schemas.Topic, hold bool)
}

// State is the partition's local store: a seal's changes go in as one batch, and a
// snapshot of all of it can be uploaded while the next batches go in.
type State interface {
	partition.Store
	Apply(changes []partition.Change) error
	Snapshot() (Snapshot, error)
}

// Snapshot is an immutable copy of a State's files, cheap to take.
type Snapshot any

// Outlet sends what the partition has to say; see Speaker.
type Outlet interface {
	// Alerts sends alerts and reports, once they are durable, the position after them in the
	// log of sent alerts. One call at a time.
	Alerts(alerts []schemas.Alert, done func(logNext schemas.Offset))
}

// Spec is all that an owner needs to begin.
type Spec struct {
	Partition schemas.Partition
	// Build makes the partition, as the last cut left it, over the runner given.
	Build  func(partition.Runner) (*partition.Partition, error)
	State  State
	Source Source
	Outlet Outlet
	Now    func() schemas.Millis // wall clock
	Log    *slog.Logger

	// LogNext is where the log of sent alerts ended when this run began.
	LogNext schemas.Offset
	// Ends are the replay's end offsets; nil = live.
	Ends *[schemas.NumInputs]schemas.Offset
	// Failed hears, once, that the owner gave up; its state in memory is then void.
	Failed func(error)

	IdleSeals   func() int64 // trips untouched for so many seals leave memory
	MaxResident int          // more trips in memory than this leave it as soon as they are clean
}

// Messages to an owner.
type (
	// Delivery is records in one piece or more, each valid until the next is asked for; Release gives
	// the room back.
	Delivery struct {
		Pieces  iter.Seq[*schemas.Batch]
		Release func()
	}
	// Tick lets the wall clock in.
	Tick struct{}
	// SealRequest asks for a cut. Done runs in the owner's goroutine and must not wait.
	SealRequest struct {
		Number checkpoint.SealNumber
		Tell   partition.Tell
		Layout partition.Layout // zero = as before
		Anyway func() bool      // whether to cut although nothing happened; nil = never. Runs like Done
		Last   bool             // nobody reads the partition any more until it is answered: no sweep is waited for
		Done   func(Cut, error)
	}
	// Committed tells that the chain holds the seal of that number.
	Committed struct{ Number checkpoint.SealNumber }
	// TariffChange is one record of the tariff topic; a nil Tariff withdraws Key.
	TariffChange struct {
		Revision schemas.Offset
		Key      tariff.Key
		Tariff   *schemas.Tariff
	}
	// RulesChange replaces the alert rules.
	RulesChange struct{ Book *rule.Book }
	// ViewQuery is answered with trip.View, ExplainQuery with trip.Explanation; both with
	// ErrNoTrip when the trip is not known here, or another error.
	ViewQuery    struct{ Trip schemas.TripID }
	ExplainQuery struct{ Trip schemas.TripID }

	alertsSent struct {
		n       int
		logNext schemas.Offset
	}
)

func (d *Delivery) release() {
	if d.Release != nil {
		d.Release()
		d.Release = nil
	}
}

// Cut is a seal with the files of the state at it.
type Cut struct {
	partition.Sealed
	Unchanged bool // nothing happened since the cut that is committed: there is nothing to seal
	// LogNext is the position in the log of sent alerts after the last one that was acknowledged: what
	// lies behind it was unsent at the cut, or decided after it.
	LogNext  schemas.Offset
	Snapshot Snapshot
}

// ErrNoTrip is the answer to a question about a trip that the partition does not know.
var ErrNoTrip = fmt.Errorf("no such trip")

// Stats is what the outside may know of an owner at any time; replaced whole, never changed.
type Stats struct {
	Partition schemas.Partition
	Watermark schemas.Millis
	Positions [schemas.NumInputs]partition.Position
	Ledger    partition.Ledger
	Resident  int // trips in memory
	Bills     int // not in a committed seal yet
	Windows   int
	Letters   int
	Alerts    int // decided, not yet durable on their topic
	Held      [schemas.NumInputs]bool
	Idle      [schemas.NumInputs]bool
	Done      bool          // replay: all input consumed and time at its end
	SealPause time.Duration // the longest that events waited at a stretch, for the last seal or the sweep before it
}

// Owner is the actor of one partition.
type Owner struct {
	spec  Spec
	stats *atomic.Pointer[Stats]

	part    *partition.Partition
	trips   *trips
	held    [schemas.NumInputs]bool
	ended   [schemas.NumInputs]bool
	done    bool
	sending bool // alerts are with the outlet
	changed bool // since the last cut
	// cut is the newest one's number; committed the newest that the chain is known to hold. A
	// cut in between may be lost, if its upload failed: it is made again.
	cut, committed checkpoint.SealNumber
	logNext        schemas.Offset
	sealing        sealing
	failed         bool
}

// NewOwner describes an owner to spawn. stats follows it from then on.
func NewOwner(spec Spec, stats *atomic.Pointer[Stats]) *actor.Props {
	return actor.PropsFromProducer(func() actor.Actor { return &Owner{spec: spec, stats: stats, logNext: spec.LogNext} })
}

// HandleFailure is the owner's word on a trip that panicked: it goes on with the state it
// has; the event went to the dead letters.
func (o *Owner) HandleFailure(_ *actor.ActorSystem, s actor.Supervisor, child *actor.PID, _ *actor.RestartStatistics, _, _ any) {
	s.ResumeChildren(child)
}

// Receive runs one message. An error or panic voids the memory: the owner stops and the
// node begins anew from the last cut.
func (o *Owner) Receive(ctx actor.Context) {
	if _, stopping := ctx.Message().(*actor.Stopping); stopping {
		o.sealing.writer.Wait() // the store may be closed once the owner has stopped
	}
	if o.failed {
		o.refuse(ctx)
		return
	}
	defer func() {
		if r := recover(); r != nil {
			o.fail(ctx, fmt.Errorf("partition %d: invariant broken: %v", o.spec.Partition, r))
		}
	}()
	if err := o.receive(ctx); err != nil {
		o.fail(ctx, err)
	}
}

func (o *Owner) receive(ctx actor.Context) (err error) {
	records := 0
	switch m := ctx.Message().(type) {
	case *actor.Started:
		o.trips = newTrips(ctx, o.spec.Log)
		if o.part, err = o.spec.Build(o.trips); err != nil {
			return err
		}
		err = o.checkEnds()
	case *Delivery:
		now := o.spec.Now()
		for piece := range m.Pieces {
			records += len(piece.Records)
			if err = o.part.Consume(piece, now); err != nil {
				break
			}
		}
		m.release()
		o.changed = true
		if err == nil {
			err = o.checkEnds()
		}
	case *Tick:
		err = o.tick()
	case *SealRequest:
		o.seal(ctx, m)
		return nil
	case goOn:
		o.goOn(ctx)
		return nil
	case *applied:
		return o.applied(ctx, m)
	case *Committed:
		o.committed = max(o.committed, m.Number)
		o.part.Committed(int64(m.Number))
	case *TariffChange:
		if m.Tariff != nil {
			err = o.part.PutTariff(m.Revision, *m.Tariff)
		} else {
			o.part.WithdrawTariff(m.Revision, m.Key)
		}
		o.changed = true
	case *RulesChange:
		o.part.SetRules(m.Book)
	case *ViewQuery:
		o.answer(ctx, m.Trip)
		return nil
	case *ExplainQuery:
		o.explain(ctx, m.Trip)
		return nil
	case *alertsSent:
		o.part.Acknowledge(m.n)
		o.logNext = m.logNext // lots go one after the other: what is unsent can only come after it
		o.sending = false
		o.changed = true
	default: // notices of protoactor, such as a trip's end
		return nil
	}
	if err != nil {
		return err
	}
	o.speak(ctx)
	o.work(ctx, records)
	o.publishStats()
	return nil
}

// tick lets the wall clock mark idle sources, and holds topics that run ahead.
func (o *Owner) tick() error {
	var next [schemas.NumInputs]schemas.Offset
	for _, t := range schemas.Inputs {
		next[t] = o.part.Position(t).Next
	}
	if o.spec.Ends == nil {
		before := o.part.Watermark()
		if err := o.part.Tick(o.spec.Now(), o.spec.Source.Status(next)); err != nil {
			return err
		}
		o.changed = o.changed || o.part.Watermark() != before
	} else if err := o.checkEnds(); err != nil {
		return err
	}
	for t, pause := range o.part.Pause() {
		if pause != o.held[t] {
			o.held[t] = pause
			o.spec.Source.Hold(schemas.Topic(t), pause)
		}
	}
	return nil
}

// checkEnds moves a replay's time when topics are consumed to their end offsets.
func (o *Owner) checkEnds() error {
	if o.spec.Ends == nil || o.done {
		return nil
	}
	all := true
	for _, t := range schemas.Inputs {
		if o.ended[t] {
			continue
		}
		if o.part.Position(t).Next < o.spec.Ends[t] {
			all = false
			continue
		}
		o.ended[t] = true
		if err := o.part.EndSource(t, o.spec.Now()); err != nil {
			return err
		}
	}
	if !all {
		return nil
	}
	o.done, o.changed = true, true
	return o.part.EndInput()
}

// speak gives the outlet the next alerts, one lot at a time.
func (o *Owner) speak(ctx actor.Context) {
	alerts := o.part.Unsent()
	if o.sending || len(alerts) == 0 {
		return
	}
	o.sending = true
	lot := append([]schemas.Alert(nil), alerts...)
	self, root := ctx.Self(), ctx.ActorSystem().Root
	o.spec.Outlet.Alerts(lot, func(logNext schemas.Offset) { root.Send(self, &alertsSent{len(lot), logNext}) })
}

func (o *Owner) answer(ctx actor.Context, id schemas.TripID) {
	v, known, err := o.part.View(id)
	respond(ctx, v, known, err)
}

func (o *Owner) explain(ctx actor.Context, id schemas.TripID) {
	x, known, err := o.part.Explain(id)
	respond(ctx, x, known, err)
}

func respond[T trip.View | trip.Explanation](ctx actor.Context, v T, known bool, err error) {
	switch {
	case err != nil:
		ctx.Respond(err)
	case !known:
		ctx.Respond(ErrNoTrip)
	default:
		ctx.Respond(v)
	}
}

func (o *Owner) publishStats() {
	s := &Stats{Partition: o.spec.Partition, Watermark: o.part.Watermark(), Ledger: o.part.Ledger(), Resident: o.part.Resident(),
		Alerts: len(o.part.Unsent()), Held: o.held, Done: o.done, SealPause: o.sealing.told}
	s.Bills, s.Windows, s.Letters = o.part.Waiting()
	for _, t := range schemas.Inputs {
		s.Positions[t] = o.part.Position(t)
		s.Idle[t] = o.part.SourceIdle(t)
	}
	o.stats.Store(s)
}

func (o *Owner) fail(ctx actor.Context, err error) {
	o.failed = true
	o.spec.Failed(err)
	o.refuse(ctx)
}

// refuse answers whoever waits, now that the memory is void.
func (o *Owner) refuse(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *Delivery:
		m.release()
	case *SealRequest:
		m.Done(Cut{}, ErrOwnerFailed)
	case *applied, goOn:
		o.abandonSeals()
	case *ViewQuery, *ExplainQuery:
		ctx.Respond(ErrOwnerFailed)
	}
}

// ErrOwnerFailed is the answer of an owner that waits to be replaced.
var ErrOwnerFailed = fmt.Errorf("the partition's owner failed and is being replaced")
