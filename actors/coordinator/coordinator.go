package coordinator

import (
	"context"
	"errors"
	"fmt"
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

// ErrDecidedAnew is an assignment that was decided on a tip whose runs, members or protocol are no
// longer the chain's. A process that slept in between would take back what another took.
var ErrDecidedAnew = errors.New("runs, members or the protocol have changed since this assignment was decided: look at the chain again")

func (c *Coordinator) assign(m *Assign) (checkpoint.Manifest, error) {
	return c.commit("assignment", func(tip checkpoint.Manifest) ([]checkpoint.Change, error) {
		if !m.holds(tip) {
			return nil, fmt.Errorf("manifest %d, decided on %d: %w", tip.Number, m.Seen.Number, ErrDecidedAnew)
		}
		return m.Changes, nil
	})
}

// commit puts the changes that decide makes of the tip, and decides anew after every loss.
func (c *Coordinator) commit(what string, decide func(tip checkpoint.Manifest) ([]checkpoint.Change, error)) (checkpoint.Manifest, error) {
	for range attempts {
		tip, err := c.tip()
		if err != nil {
			return checkpoint.Manifest{}, err
		}
		changes, err := decide(tip)
		if err != nil {
			return checkpoint.Manifest{}, err
		}
		next, err := checkpoint.Assign(tip, c.o.Limits, c.stamp(), changes...)
		if err != nil {
			return checkpoint.Manifest{}, err
		}
		won, tip, err := c.o.Chain.Commit(c.ctx, next)
		if err != nil {
			return checkpoint.Manifest{}, err
		}
		if won {
			c.report(tip, time.Now(), nil)
			return tip, nil
		}
	}
	return checkpoint.Manifest{}, fmt.Errorf("%s lost to other writers %d times", what, attempts)
}

// holds reports whether what was decided on Seen may still be done: members and protocol are
// the same, and the runs that it changes. The protocol is raised on Seen itself: a member that
// left and came back in between may be of an older version.
func (m *Assign) holds(tip checkpoint.Manifest) bool {
	return tip.Lineage == m.Seen.Lineage && tip.Speaks() == m.Seen.Speaks() && slices.Equal(tip.Members, m.Seen.Members) &&
		!slices.ContainsFunc(m.Changes, func(c checkpoint.Change) bool {
			switch c := c.(type) {
			case checkpoint.Speak:
				return tip.Number != m.Seen.Number
			case checkpoint.Start:
				now, exists := tip.Entry(c.Partition)
				before, existed := m.Seen.Entry(c.Partition)
				return !exists || !existed || now.Epoch != before.Epoch
			}
			return false
		})
}

// move seals anew only if the partition's entry changed: each lost put would have it stand still
// for another upload.
func (c *Coordinator) move(m *Move) (moved Moved, err error) {
	p := m.Task.Partition()
	if _, err := c.tip(); err != nil { // what is to be read for it is read while the partition runs
		return Moved{}, err
	}
	began := time.Now()
	if err := m.Quiesce(); err != nil {
		return Moved{}, err
	}
	quiet := time.Now()
	var last *checkpoint.Seal
	if offered, ok := c.offers[p]; ok {
		last = &offered
	}
	var grown *checkpoint.Entry // what last has grown from; nil = not sealed yet
	moved.Tip, err = c.commit(fmt.Sprintf("move of partition %d", p), func(tip checkpoint.Manifest) ([]checkpoint.Change, error) {
		e, ok := tip.Entry(p)
		if !ok || e.Incarnation != m.Task.Incarnation() {
			return nil, fmt.Errorf("partition %d is not run by this task any more", p)
		}
		if grown == nil || grown.Base() != e.Base() || grown.Next != e.Next {
			sealing := time.Now()
			m.Task.Committed(e)
			newer, err := m.Task.Seal(c.ctx, tip, c.next(m.Task, e.Seal)-1)
			if err != nil {
				return nil, fmt.Errorf("last seal of partition %d: %w", p, err)
			}
			if newer != nil { // else nothing happened since the one before
				last = newer
			}
			grown = &e
			moved.Sealed += time.Since(sealing)
		}
		return []checkpoint.Change{checkpoint.Start{Partition: p, Owner: m.To, Incarnation: m.Incarnation(e.Epoch + 1), Last: last}}, nil
	})
	moved.Quieted, moved.Entered = quiet.Sub(began), time.Since(quiet)-moved.Sealed
	return moved, err
}

// next is the number of a task's next seal: above all that it and the chain have had.
func (c *Coordinator) next(t Task, committed checkpoint.SealNumber) checkpoint.SealNumber {
	c.last[t] = max(c.last[t], committed) + 1
	return c.last[t]
}

func (c *Coordinator) stamp() checkpoint.Stamp {
	return checkpoint.Stamp{At: c.o.Now(), By: c.o.Node, Token: c.o.Token()}
}

// round is one checkpoint: ask, collect, commit, tell.
func (c *Coordinator) round() (Outcome, error) {
	tip, err := c.tip()
	if err != nil {
		if before := c.status.Load(); before != nil {
			for _, t := range c.tasks {
				c.spill(t, before.Tip)
			}
			c.collect()
		}
		return Outcome{}, err
	}
	out := Outcome{Tip: tip, Absent: slices.Concat(c.ask(tip), c.collect())}
	for range attempts {
		next, rejected := checkpoint.NextCheckpoint(tip, c.seals(), c.published(tip), c.o.Limits, c.stamp())
		for _, r := range rejected {
			c.o.Log.Warn("seal does not enter the chain", "seal", r.String())
			delete(c.offers, r.Partition)
			out.Absent = append(out.Absent, r.Partition)
		}
		if !worth(tip, next) {
			out.Tip, out.Quiet = tip, true
			return out, nil
		}
		won, now, err := c.o.Chain.Commit(c.ctx, next)
		if err != nil {
			return out, err
		}
		tip = now
		if won {
			c.tell(next)
			out.Tip = tip
			return out, nil
		}
	}
	return out, fmt.Errorf("checkpoint lost to other writers %d times", attempts)
}

// ask starts a seal of every task that still runs what the tip says and has room. Full are
// the partitions without.
func (c *Coordinator) ask(tip checkpoint.Manifest) (full []schemas.Partition) {
	for _, t := range c.tasks {
		e, ok := tip.Entry(t.Partition())
		if !ok || e.Incarnation != t.Incarnation() {
			t.Revoked()
			continue
		}
		t.Committed(e) // again: an earlier round may have won without an answer
		if c.busy[t] {
			continue
		}
		if c.o.Limits.Full(e, t.Published()) {
			c.o.Log.Error("partition is not sealed: too many outboxes wait for publication", "partition", t.Partition(), "pending", len(e.Pending))
			full = append(full, t.Partition())
			c.spill(t, tip)
			continue
		}
		number := c.next(t, e.Seal)
		c.begin(t, func() (*checkpoint.Seal, error) { return t.Seal(c.ctx, tip, number-1) })
	}
	return full
}

// spill lets a task that cannot be sealed now keep its memory bounded all the same.
func (c *Coordinator) spill(t Task, tip checkpoint.Manifest) {
	if !c.busy[t] {
		number := c.next(t, 0)
		c.begin(t, func() (*checkpoint.Seal, error) { return nil, t.Spill(c.ctx, tip, number) })
	}
}

// begin runs what a task does for a round beside the others; collect waits for it.
func (c *Coordinator) begin(t Task, work func() (*checkpoint.Seal, error)) {
	c.busy[t] = true
	c.running.Go(func() {
		seal, err := work()
		select {
		case c.late <- offer{t, seal, err}:
		case <-c.ctx.Done():
		}
	})
}

// collect waits for the seals asked for, and takes those of earlier rounds, until the
// deadline. Absent are the partitions that are late or whose seal failed.
func (c *Coordinator) collect() (absent []schemas.Partition) {
	timer := time.NewTimer(c.o.Deadline)
	defer timer.Stop()
	for len(c.busy) > 0 {
		select {
		case o := <-c.late:
			delete(c.busy, o.task)
			switch {
			case o.err != nil:
				absent = append(absent, o.task.Partition())
				if !errors.Is(o.err, context.Canceled) {
					c.o.Log.Warn("partition could not be sealed", "partition", o.task.Partition(), "err", o.err)
				}
			case o.seal != nil && slices.Contains(c.tasks, o.task):
				c.offers[o.seal.Partition] = *o.seal
			}
		case <-timer.C:
			for t := range c.busy {
				absent = append(absent, t.Partition())
			}
			c.o.Log.Warn("checkpoint goes without slow partitions", "late", len(c.busy))
			return absent
		case <-c.ctx.Done():
			return absent
		}
	}
	return absent
}

func (c *Coordinator) seals() []checkpoint.Seal {
	var all []checkpoint.Seal
	for _, s := range c.offers {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b checkpoint.Seal) int { return int(a.Partition - b.Partition) })
	return all
}

func (c *Coordinator) published(tip checkpoint.Manifest) map[schemas.Partition]checkpoint.Number {
	known := make(map[schemas.Partition]checkpoint.Number)
	for _, t := range c.tasks {
		if e, ok := tip.Entry(t.Partition()); ok && e.Incarnation == t.Incarnation() {
			known[t.Partition()] = t.Published()
		}
	}
	return known
}

// worth reports whether next says more than tip: a new cut, or something published.
func worth(tip, next checkpoint.Manifest) bool {
	for p := range next.Entries {
		if next.Entries[p].Made == next.Number || len(next.Entries[p].Pending) != len(tip.Entries[p].Pending) {
			return true
		}
	}
	return false
}

// tell lets the tasks whose seals won go on from them.
func (c *Coordinator) tell(m checkpoint.Manifest) {
	for _, t := range c.tasks {
		e, ok := m.Entry(t.Partition())
		if !ok || e.Made != m.Number || e.Incarnation != t.Incarnation() {
			continue
		}
		delete(c.offers, t.Partition())
		t.Committed(e)
	}
}
