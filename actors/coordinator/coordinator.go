package coordinator

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"taximeter/checkpoint"
	"taximeter/schemas"
)

// Task is one run of one partition in this process, as the coordinator sees it. Its
// methods do not wait, but for Seal's and Spill's.
type Task interface {
	Partition() schemas.Partition
	Incarnation() checkpoint.Incarnation
	// Seal cuts, uploads and offers a seal that grows from the tip's entry. Nil means that
	// nothing happened since the last cut. It may be called again before an earlier call is
	// done: seals are cumulative.
	Seal(ctx context.Context, tip checkpoint.Manifest, last checkpoint.SealNumber) (*checkpoint.Seal, error)
	// Spill cuts into the local store only, so that what was changed may leave memory. The
	// number is above those of all cuts before, the tip the newest known. It serves while no
	// seal can be committed.
	Spill(ctx context.Context, tip checkpoint.Manifest, number checkpoint.SealNumber) error
	// Committed tells what the chain holds of the task: the seal that is its cut, and what is
	// pending. It may be told again.
	Committed(e checkpoint.Entry)
	// Published is the newest manifest number up to which every sink has the task's outboxes.
	Published() checkpoint.Number
	// Revoked tells that the chain holds another run of the partition. It may be told again.
	Revoked()
}

// Options of a Coordinator. All but Seen are required.
type Options struct {
	Chain *checkpoint.Chain // this coordinator's alone
	// Seen is the newest manifest that others here have read, if any: with hundreds of files a
	// partition it takes ten milliseconds of CPU to read one. nil = nobody reads.
	Seen     func() *checkpoint.Manifest
	Node     checkpoint.NodeID
	Limits   checkpoint.Limits
	Interval time.Duration // between rounds
	Deadline time.Duration // how long a round waits for owners
	Now      func() schemas.Millis
	Token    func() string // unique to each manifest that this process tries to write
	Log      *slog.Logger
}

// Status is what the outside may know at any time; replaced whole, never changed.
type Status struct {
	Tip       checkpoint.Manifest
	RoundAt   time.Time     // end of the last round that went well
	Took      time.Duration // that round
	LastError error         // of the last round; nil = it went well
}

// Messages to a Coordinator.
type (
	// Attach adds a task to the rounds; Detach removes it.
	Attach struct{ Task Task }
	Detach struct{ Task Task }
	// Assign commits an assignment manifest that was decided on the tip Seen, and answers with
	// the checkpoint.Manifest that holds, or an error: ErrDecidedAnew if runs, members
	// or the protocol have changed since.
	Assign struct {
		Seen    checkpoint.Manifest
		Changes []checkpoint.Change
	}
	// Move hands a task's partition to another node: its last seal and the new run in one
	// manifest, so that nothing is replayed. Answered with Moved or an error; after an error it
	// is unknown who runs the partition, and the task must end, unless Quiesce was not called.
	Move struct {
		Task Task
		To   checkpoint.NodeID
		// Quiesce ends the task's input. It runs when the move's turn has come: the partition
		// does not stand still while a round before it is under way.
		Quiesce func() error
		// Incarnation of the new run, by the epoch that it will have.
		Incarnation func(checkpoint.Epoch) checkpoint.Incarnation
	}
	// Round asks for a checkpoint now; answered with Outcome or an error.
	Round struct{}
)

// Moved is what became of a Move, and what the partition stood still for: until its input had ended,
// for its last seal, and until that was in the chain.
type Moved struct {
	Tip                      checkpoint.Manifest
	Quieted, Sealed, Entered time.Duration
}

// Outcome of a round.
type Outcome struct {
	Tip   checkpoint.Manifest
	Quiet bool // nothing had changed: no manifest was made
	// Absent are the partitions that were not cut: late, full, or their seal failed or was
	// refused. One may be named twice.
	Absent []schemas.Partition
}

// Coordinator is the actor.
type Coordinator struct {
	o      Options
	ctx    context.Context
	cancel context.CancelFunc
	status *atomic.Pointer[Status]

	tasks  []Task
	last   map[Task]checkpoint.SealNumber
	offers map[schemas.Partition]checkpoint.Seal // in the store, not in the chain yet

	rounds  int64
	late    chan offer // seals that came after their round
	running sync.WaitGroup
	busy    map[Task]bool // a seal is under way
}

type offer struct {
	task Task
	seal *checkpoint.Seal
	err  error
}

// New describes a coordinator to spawn. status follows it from then on.
func New(o Options, status *atomic.Pointer[Status]) *actor.Props {
	return actor.PropsFromProducer(func() actor.Actor {
		ctx, cancel := context.WithCancel(context.Background())
		return &Coordinator{o: o, ctx: ctx, cancel: cancel, status: status, last: make(map[Task]checkpoint.SealNumber),
			offers: make(map[schemas.Partition]checkpoint.Seal), late: make(chan offer), busy: make(map[Task]bool)}
	})
}

// Receive runs one message; rounds wait in it, so they come one after another.
func (c *Coordinator) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *actor.Stopping:
		c.cancel()
	case *Attach:
		c.tasks = append(c.tasks, m.Task)
	case *Detach:
		c.tasks = slices.DeleteFunc(c.tasks, func(t Task) bool { return t == m.Task })
		delete(c.last, m.Task)
		delete(c.busy, m.Task)
		delete(c.offers, m.Task.Partition())
	case *Assign:
		tip, err := c.assign(m)
		if err != nil {
			ctx.Respond(err)
			return
		}
		ctx.Respond(tip)
	case *Move:
		moved, err := c.move(m)
		if err != nil {
			ctx.Respond(err)
			return
		}
		ctx.Respond(moved)
	case *Round:
		began := time.Now()
		out, err := c.round()
		c.report(out.Tip, began, err)
		switch {
		case ctx.Sender() == nil:
		case err != nil:
			ctx.Respond(err)
		default:
			ctx.Respond(out)
		}
		c.collectGarbage()
	}
}

// collectEvery is how many rounds lie between two garbage collections.
const collectEvery = 20

func (c *Coordinator) collectGarbage() {
	if c.rounds++; c.rounds%collectEvery != 0 {
		return
	}
	deleted, err := c.o.Chain.Collect(c.ctx)
	switch {
	case err != nil && c.ctx.Err() == nil:
		c.o.Log.Warn("garbage could not be collected; the next time will", "err", err)
	case deleted > 0:
		c.o.Log.Info("collected what no retained checkpoint cites", "files", deleted)
	}
}

func (c *Coordinator) report(tip checkpoint.Manifest, began time.Time, err error) {
	s := Status{Tip: tip, RoundAt: time.Now(), Took: time.Since(began), LastError: err}
	if before := c.status.Load(); before != nil && err != nil {
		s.Tip, s.RoundAt, s.Took = before.Tip, before.RoundAt, before.Took
	}
	c.status.Store(&s)
	switch {
	case err != nil && c.ctx.Err() == nil:
		c.o.Log.Error("checkpoint failed; processing goes on, bills wait", "err", err)
	case s.Took > c.o.Deadline:
		c.o.Log.Warn("checkpoint was slow", "took", s.Took, "number", tip.Number)
	}
}

func (c *Coordinator) tip() (checkpoint.Manifest, error) {
	if c.o.Seen != nil {
		if seen := c.o.Seen(); seen != nil {
			c.o.Chain.From(*seen)
		}
	}
	return c.o.Chain.Tip(c.ctx)
}

// attempts to commit before a round gives up: each loss means that another wrote, and of
// many nodes that move partitions at once one must lose often.
const attempts = 20

// next is the number of a task's next seal: above all that it and the chain have had.
func (c *Coordinator) next(t Task, committed checkpoint.SealNumber) checkpoint.SealNumber {
	c.last[t] = max(c.last[t], committed) + 1
	return c.last[t]
}

func (c *Coordinator) stamp() checkpoint.Stamp {
	return checkpoint.Stamp{At: c.o.Now(), By: c.o.Node, Token: c.o.Token()}
}
