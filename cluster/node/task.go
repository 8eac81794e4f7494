package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"taximeter/actors/host"
	"taximeter/actors/ingest"
	"taximeter/actors/partition"
	"taximeter/checkpoint"
	"taximeter/checkpoint/pebblestore"
	"taximeter/schemas"
)

// task is one run of one partition in this process: from its assignment manifest until it
// is stopped, revoked or failed. It is the coordinator's Task and the owner's Source.
type task struct {
	node        *Node
	partition   schemas.Partition
	incarnation checkpoint.Incarnation
	epoch       checkpoint.Epoch
	dir         string

	store    *pebblestore.Store
	speaker  *host.Speaker
	owner    *actor.PID
	stats    atomic.Pointer[host.Stats]
	ends     atomic.Pointer[sourceView] // what the consumer last said
	ctx      context.Context            // ends with the run
	cancel   context.CancelFunc
	outbox   atomic.Pointer[sealedOutbox] // of the newest seal: mostly the next to be published
	failure  atomic.Pointer[error]
	quiesced atomic.Bool // its input was ended for a move
	stopping atomic.Bool // stop was asked for
	ending   sync.Once
	ended    error // of ending
}

// sourceView is the consumer's word on the three topics, asked for beside the owner.
type sourceView struct {
	lanes [schemas.NumInputs]ingest.LaneStatus
}

// start brings the entry's state back and lets the run begin. The entry must be the tip's,
// with the incarnation of this run.
func (n *Node) startTask(ctx context.Context, p schemas.Partition, e checkpoint.Entry) (t *task, err error) {
	t = &task{node: n, partition: p, incarnation: e.Incarnation, epoch: e.Epoch}
	t.ctx, t.cancel = context.WithCancel(n.ctx)
	run := t // a return may have set t to nil
	defer func() {
		if err != nil {
			err = n.startFailed(run, fmt.Errorf("start partition %d: %w", p, err))
		}
	}()
	if err := n.timeGoesOn(p, e); err != nil { // a restore may have led here
		return nil, err
	}
	began := time.Now()
	t.speaker = host.NewSpeaker(t.speakerSpec(), e) // connects and reads back while the state comes
	reuse := n.standby.take(p)
	t.dir = filepath.Join(n.home(p), strconv.FormatInt(int64(e.Incarnation), 10))
	stateDir, snapshots := filepath.Join(t.dir, stateFolder), filepath.Join(t.dir, "snapshots")
	earlier := n.earlier(p)
	if err := os.MkdirAll(snapshots, 0o755); err != nil {
		return nil, fmt.Errorf("the data folder cannot be written: %w", err)
	}
	for _, d := range earlier {
		reuse = append(reuse, pebblestore.Folder{Dir: filepath.Join(d, stateFolder)})
	}
	if t.store, err = pebblestore.Restore(ctx, n.store, e.Files, stateDir, n.shared, reuse...); err != nil {
		return nil, err
	}
	if err := setAside(n.home(p), earlier...); err != nil {
		n.log.Warn("state of an earlier run stays behind until the next start", "partition", p, "err", err)
	}
	restored := time.Since(began) // the speaker has connected meanwhile
	select {
	case <-t.speaker.Opened():
	case <-t.ctx.Done(): // revoked meanwhile
		return nil, cmp.Or(t.why(), t.ctx.Err())
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	opened := time.Since(began)
	sent, logNext := t.speaker.Sent()
	left, err := t.leftBehind(ctx, e)
	if err != nil {
		return nil, err
	}

	n.mu.Lock()
	changes, book := n.catalogues.changes, n.catalogues.book
	spec := host.Spec{Partition: p, State: &state{ctx: t.ctx, store: t.store, snapshots: snapshots}, Source: t, Outlet: t.speaker,
		Now: n.clock.now, Log: n.log, LogNext: logNext, Failed: t.failed, IdleSeals: n.idleSeals, MaxResident: n.cfg.Memory.ResidentTrips}
	if n.ends != nil {
		ends := n.ends[p]
		spec.Ends = &ends
	}
	spec.Build = func(r partition.Runner) (*partition.Partition, error) {
		part, err := n.build(p, e, r, spec.State, book)
		if err != nil {
			return nil, err
		}
		if left != nil {
			if err := part.FollowsOn(*left); err != nil {
				return nil, err
			}
		}
		part.Recover(e.Alerts.Unsent, sent, e.Alerts.Seen)
		for _, c := range changes {
			if c.Tariff == nil {
				part.WithdrawTariff(c.Revision, c.Key)
			} else if err := part.PutTariff(c.Revision, *c.Tariff); err != nil {
				return nil, err
			}
		}
		return part, nil
	}
	t.owner, err = n.system.Root.SpawnNamed(host.NewOwner(spec, &t.stats), fmt.Sprintf("partition-%d-%d", p, e.Incarnation))
	if err == nil {
		n.tasks[p] = t // from here on catalogue changes reach the owner too
	}
	n.mu.Unlock()
	if err != nil {
		return nil, err
	}
	root := n.system.Root
	added := time.Now()
	first := true // the consumer's
	if err := n.source.Add(p, e.Next, func(b *ingest.Batch) {
		release := b.Release
		if first {
			first = false
			release = func() {
				n.log.Info("partition has read on", "partition", p, "after", time.Since(added))
				b.Release()
			}
		}
		root.Send(t.owner, &host.Delivery{Pieces: b.Pieces, Release: release})
	}); err != nil {
		return nil, err
	}
	if n.inputFault.Load() != nil { // set before or meanwhile
		if err := n.source.Remove(p); err != nil {
			return nil, err
		}
	}
	root.Send(n.coordinator, attach(t))
	opening := t.speaker.Opening()
	n.log.Info("partition runs", "partition", p, "took", time.Since(began), "restored", restored, "opened", opened, "fetched", t.store.Fetched(),
		"connected", opening.Connected, "confirmed", opening.Confirmed, "read", opening.ReadBack)
	return t, nil
}

// startFailed ends a run that did not start. One that can be seen among the tasks is ended by the
// crew, like any that fails: it may just be looking at its store.
func (n *Node) startFailed(t *task, err error) error {
	n.mu.Lock()
	seen := n.tasks[t.partition] == t
	n.mu.Unlock()
	if !seen {
		return errors.Join(err, t.stop())
	}
	t.failure.CompareAndSwap(nil, &err)
	t.cancel()
	return err
}

// build makes the partition as the entry's cut left it.
func (n *Node) build(p schemas.Partition, e checkpoint.Entry, r partition.Runner, st partition.Store, book ruleBook) (*partition.Partition, error) {
	head, found, err := st.(*state).store.Get(partition.HeaderKey())
	if err != nil {
		return nil, err
	}
	mode := partition.Live
	if n.ends != nil {
		mode = partition.Replay
	}
	var part *partition.Partition
	if found {
		part, err = partition.Restore(head, p, mode, n.settings, book, r, st, n.clock.now())
	} else {
		part = partition.New(p, mode, n.settings, book, r, st, n.clock.now())
	}
	if err != nil {
		return nil, err
	}
	for topic, stands := range e.Stands() {
		topic := schemas.Topic(topic)
		part.StartAt(topic, stands)
		if pos := part.Position(topic); pos.Next != stands {
			return nil, fmt.Errorf("partition %d: the state stands at offset %d of %s, the manifest at %d", p, pos.Next, topic, stands)
		}
		if next := e.Next[topic]; next != stands {
			n.log.Warn("an operator moved where consumption goes on", "partition", p, "topic", topic, "from", stands, "to", next)
			part.Jump(topic, next)
		}
	}
	return part, nil
}

// stop ends the run in memory; the chain is not touched.
func (t *task) stop() error {
	t.ending.Do(func() { t.ended = t.end() })
	return t.ended
}

func (t *task) end() error {
	n := t.node
	t.cancel()
	var errs []error
	n.system.Root.Send(n.coordinator, detach(t))
	if err := n.source.Remove(t.partition); err != nil && !errors.Is(err, ingest.ErrClosed) {
		errs = append(errs, err)
	}
	if t.owner != nil {
		errs = append(errs, n.system.Root.StopFuture(t.owner).Wait())
	}
	if t.speaker != nil {
		t.speaker.Close()
	}
	if t.store != nil {
		errs = append(errs, t.store.Close())
	}
	n.standby.give(t.partition) // before another run here can begin, and take
	n.mu.Lock()
	if n.tasks[t.partition] == t {
		delete(n.tasks, t.partition)
	}
	n.mu.Unlock()
	return errors.Join(errs...)
}

// failed hears from the owner that its memory is void, or from the speaker that the run is
// revoked. The crew ends the run, and begins another if the partition is still this node's.
func (t *task) failed(err error) {
	defer t.cancel()
	switch {
	case !t.failure.CompareAndSwap(nil, &err) || t.node.ctx.Err() != nil:
	case errors.Is(err, host.ErrRevoked):
		t.node.log.Info("partition is run elsewhere now", "partition", t.partition)
	default:
		t.node.log.Error("partition failed; it begins anew from its last checkpoint", "partition", t.partition, "err", err)
	}
}

// why is what failed; nil = nothing has.
func (t *task) why() error {
	if err := t.failure.Load(); err != nil {
		return *err
	}
	return nil
}

func (t *task) Partition() schemas.Partition        { return t.partition }
func (t *task) Incarnation() checkpoint.Incarnation { return t.incarnation }

// Published is up to where every sink has the partition's outboxes.
func (t *task) Published() checkpoint.Number { return t.node.heldByTables(t.speaker.Published()) }

// Revoked hears that the chain holds another run of the partition.
func (t *task) Revoked() { t.failed(host.ErrRevoked) }

// Committed tells owner and speaker what the chain now says.
func (t *task) Committed(e checkpoint.Entry) {
	t.node.system.Root.Send(t.owner, &host.Committed{Number: e.Seal})
	t.speaker.Pending(e.Pending)
}

func (t *task) speakerSpec() host.SpeakerSpec {
	n := t.node
	return host.SpeakerSpec{
		Partition: t.partition,
		Publisher: func(ctx context.Context) (host.Publisher, error) { return n.voices.OpenPublisher(ctx, t.partition) },
		Alerts:    func(ctx context.Context) (host.AlertSender, error) { return n.voices.OpenAlerts(ctx, t.partition) },
		Confirm: func(ctx context.Context) (checkpoint.Entry, error) {
			return n.confirm(ctx, t.partition, t.incarnation, t.epoch)
		},
		Outbox: func(ctx context.Context, ref checkpoint.OutboxRef) (schemas.Outbox, error) {
			return n.readOutbox(ctx, t.partition, ref)
		},
		Revoked: t.Revoked,
		Log:     n.log,
	}
}

// Status tells the owner what the consumer knows of its topics.
func (t *task) Status(next [schemas.NumInputs]schemas.Offset) (status [schemas.NumInputs]partition.SourceStatus) {
	view := t.ends.Load()
	if view == nil {
		return status
	}
	now := time.Now()
	for i, l := range view.lanes {
		status[i] = partition.SourceStatus{CaughtUp: l.CaughtUp(next[i], now, t.node.freshness()), FetchedAt: schemas.NoTime}
		if !l.CheckedAt.IsZero() {
			status[i].FetchedAt = t.node.clock.at(l.CheckedAt)
		}
	}
	return status
}

// Hold stops or resumes one topic of the partition.
func (t *task) Hold(topic schemas.Topic, hold bool) {
	act := t.node.source.ResumeTopic
	if hold {
		act = t.node.source.PauseTopic
	}
	if err := act(t.partition, topic); err != nil && !errors.Is(err, ingest.ErrClosed) {
		t.node.log.Warn("topic could not be held back", "partition", t.partition, "topic", topic, "hold", hold, "err", err)
	}
}
