package node

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/actors/coordinator"
	"taximeter/actors/host"
	"taximeter/actors/ingest"
	"taximeter/actors/partition"
	"taximeter/actors/rule"
	"taximeter/checkpoint"
	"taximeter/checkpoint/pebblestore"
	"taximeter/cluster/grain"
	"taximeter/schemas"
	"taximeter/schemas/registry"
	"taximeter/sinks"
	"taximeter/sinks/kafkaout"
	"taximeter/sinks/webhook"
)

type ruleBook = *rule.Book

// Mode says what moves the node's time.
type Mode uint8

const (
	// Live runs until it is stopped.
	Live Mode = iota
	// Replay consumes what the input topics hold at the start, by event time alone and
	// without a horizon; Done then tells that all of it is committed and published.
	Replay
)

// Options beside the configuration.
type Options struct {
	Mode Mode
	// AppendTimes says whose record timestamps are the broker's append time.
	AppendTimes ingest.AppendTimes
	Log         *slog.Logger
	Version     string // of the program, for people
	// Store and Output stand in between, for harnesses that make a node fail: the store as
	// the node sees it, and more options for the clients that send.
	Store  func(checkpoint.Store) checkpoint.Store
	Output []kgo.Opt
	// OnLakeStep hears of the steps of the lake's commits, for harnesses; see iceberg.Lake.OnStep.
	OnLakeStep func(table string)
	// Tables are sinks beside the configured ones.
	Tables []sinks.Configured
	// Wall is the machine's wall clock, for harnesses that set it; nil = the real one.
	Wall func() time.Time
}

// Node is one taximeter process.
type Node struct {
	cfg      Config
	o        Options
	log      *slog.Logger
	ns       checkpoint.Namespace
	settings partition.Settings
	clock    *clock

	store       checkpoint.Store
	shared      *pebblestore.Shared
	registry    *registry.Client
	compile     rule.ExpressionCompiler
	source      *ingest.Source
	waits       prometheus.Histogram // of the input
	system      *actor.ActorSystem
	coordinator *actor.PID
	rounds      atomic.Pointer[coordinator.Status]
	voices      *kafkaout.Kafka
	tables      []*table
	delivery    *webhook.Deliverer // of alerts to people; nil = none
	turns       *host.Turns        // of owners to cut
	memory      memory             // beat's, but for what is atomic
	partitions  int
	ends        ingest.Offsets // replay: where it ends; nil = live
	tokens      atomic.Int64
	born        int64 // ns; with tokens, what no other process and no other life says

	ctx        context.Context // ends when Stop begins to take things down
	cancel     context.CancelFunc
	running    sync.WaitGroup
	admin      *http.Server
	adminAddr  string
	catalogues *catalogues

	replaced chan struct{} // closed when another process has taken our partitions
	replace  sync.Once
	drain    chan struct{} // closed when somebody has asked for it
	drained  sync.Once

	crew    *crew
	standby *standby
	peers   *grain.Client                       // asks other nodes; nil = alone
	remote  *grain.Server                       // answers them; nil = alone
	tip     atomic.Pointer[checkpoint.Manifest] // newest seen by crew
	// confirms are chains that confirm reads with, and that nobody uses now: each knows what it has parsed.
	confirms chan *checkpoint.Chain
	// inputFault is why nothing is read any more; nil = all is well.
	inputFault atomic.Pointer[error]
	starting   sync.WaitGroup // of tasks; crew's
	faults     chan error     // one slot; why the first task that failed did not start
	revoked    atomic.Int64   // runs that others took from this node, and that found out

	mu    sync.Mutex // guards tasks, and the catalogues' contents
	tasks map[schemas.Partition]*task
	ready bool
}

// Start brings a node up: it returns when the partitions that are its own run, or somebody has asked it to drain
// before. A start that ctx ends leaves the cluster again.
func Start(ctx context.Context, cfg Config, o Options) (n *Node, err error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	n = &Node{cfg: cfg, o: o, log: o.Log, ns: checkpoint.Namespace(cfg.Namespace), settings: partition.DefaultSettings(), clock: newClock(o.Wall),
		turns: host.NewTurns(), tasks: make(map[schemas.Partition]*task), born: time.Now().UnixNano(), replaced: make(chan struct{}), drain: make(chan struct{}), faults: make(chan error, 1), confirms: make(chan *checkpoint.Chain, startsAtOnce)}
	n.settings.Trip.MaxSpeedKmh = cfg.Meter.MaxSpeedKmh
	if o.Mode == Replay {
		n.settings.Trip.Horizon = 0
	}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	defer func() {
		if err != nil {
			n.takeDown()
			n = nil
		}
	}()
	for _, step := range []func(context.Context) error{n.openStore, n.openKafka, n.openCatalogues, n.openChain, n.openTables, n.openCluster, n.openAdmin, n.showLife, n.takeSeat} {
		if err := step(ctx); err != nil {
			return n, err
		}
	}
	n.background(n.beat)
	n.background(n.watchTopics)
	n.background(n.showOffsets)
	n.background(n.crew.run)
	for _, t := range n.tables {
		n.background(t.run)
	}
	n.background(n.keep)
	if n.delivery != nil {
		n.background(n.deliver)
	}
	return n, nil
}

// showLife begins before the first partition starts: a state of gigabytes that has to be
// fetched takes longer than the others wait for a sign of life.
func (n *Node) showLife(context.Context) error {
	if n.crew.pulse == nil {
		n.background(n.beatAlone)
	} else {
		n.background(n.crew.pulse.run)
		n.background(n.standby.run)
	}
	return nil
}

const beatEvery = 500 * time.Millisecond

// beat lets the wall clock into the owners and begins the checkpoints.
func (n *Node) beat() {
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	round := time.NewTicker(n.cfg.Checkpoint.Interval)
	defer round.Stop()
	for {
		select {
		case <-tick.C:
			n.clock.watch(n.log)
			n.look()
			if n.watchMemory() {
				round.Reset(n.cfg.Checkpoint.Interval)
			}
		case <-round.C:
			n.system.Root.Send(n.coordinator, &coordinator.Round{})
		case <-n.ctx.Done():
			return
		}
	}
}

// look asks the consumer where it stands and ticks the owners.
func (n *Node) look() {
	for _, t := range n.runs() {
		lanes, ok, err := n.source.Status(t.partition)
		if err == nil && ok {
			t.ends.Store(&sourceView{lanes})
		}
		n.system.Root.Send(t.owner, &host.Tick{})
	}
}

func (n *Node) runs() []*task {
	n.mu.Lock()
	defer n.mu.Unlock()
	all := make([]*task, 0, len(n.tasks))
	for _, t := range n.tasks {
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b *task) int { return int(a.partition - b.partition) })
	return all
}

// tellOwners sends every owner a message. n.mu must be held.
func (n *Node) tellOwners(m any) {
	for _, t := range n.tasks {
		n.system.Root.Send(t.owner, m)
	}
}

// Checkpoint makes one now.
func (n *Node) Checkpoint(ctx context.Context) (coordinator.Outcome, error) {
	return ask[coordinator.Outcome](ctx, n, n.coordinator, &coordinator.Round{})
}

// Stop hands over what others can take, commits and publishes what there is, as far as ctx
// allows, and takes the node down. What could not be published is pending in the last
// checkpoint and goes out at the next start, or at whoever takes the partitions over.
func (n *Node) Stop(ctx context.Context) error {
	n.crew.rest()
	var err error
	if n.crew.gossip != nil && n.o.Mode == Live { // after a replay nothing is left to do
		n.crew.drain(ctx)
	}
	left := n.runs()
	for _, t := range left {
		err = errors.Join(err, n.source.Remove(t.partition))
	}
	if len(left) > 0 {
		settling, cancel := context.WithCancel(ctx)
		if deadline, ok := ctx.Deadline(); ok {
			settling, cancel = context.WithDeadline(ctx, deadline.Add(-leaveReserve))
		}
		err = errors.Join(err, n.settle(settling))
		cancel()
	}
	if n.crew.gossip != nil {
		err = errors.Join(err, n.crew.leave(ctx))
		n.crew.farewell(ctx)
	}
	n.takeDown()
	select {
	case <-n.replaced:
		return errors.Join(ErrReplaced, err)
	default:
		return err
	}
}

// leaveReserve is kept of the time that a node has to stop for its farewell: without it the
// others would wait until they call this node dead.
const leaveReserve = 2 * time.Second

func (n *Node) takeDown() {
	n.mu.Lock()
	n.ready = false
	n.mu.Unlock()
	n.cancel()
	if n.shared != nil {
		n.shared.GiveUp()
	}
	if n.admin != nil {
		if err := n.admin.Close(); err != nil {
			n.log.Warn("admin server", "err", err)
		}
	}
	n.stopRuns()
	n.starting.Wait()
	n.stopRuns() // of starts that were past hearing of it
	n.closeRemote()
	if n.crew != nil && n.crew.gossip != nil {
		if err := n.crew.gossip.Close(); err != nil {
			n.log.Warn("gossip did not end cleanly", "err", err)
		}
	}
	if n.source != nil {
		n.source.Close()
	}
	if n.system != nil {
		if n.coordinator != nil {
			if err := n.system.Root.StopFuture(n.coordinator).Wait(); err != nil {
				n.log.Warn("coordinator did not end cleanly", "err", err)
			}
		}
		n.system.Shutdown()
	}
	n.running.Wait()
	n.closeTables()
	if n.voices != nil {
		n.voices.Close()
	}
	if n.shared != nil {
		n.shared.Close()
	}
}

func (n *Node) stopRuns() {
	for _, t := range n.runs() {
		if err := t.stop(); err != nil {
			n.log.Warn("partition did not end cleanly", "partition", t.partition, "err", err)
		}
	}
}

// token is what no other process and no other life of this one says.
func (n *Node) token() string {
	return strings.Join([]string{n.cfg.NodeID, strconv.FormatInt(n.born, 36), strconv.FormatInt(n.tokens.Add(1), 36)}, "-")
}

func (n *Node) freshness() time.Duration {
	return time.Duration(n.settings.FetchFresh) * time.Millisecond
}

// sleep waits; false when the node ends.
func (n *Node) sleep(d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-n.ctx.Done():
		return false
	}
}

func (n *Node) background(f func()) {
	n.running.Add(1)
	go func() {
		defer n.running.Done()
		f()
	}()
}
