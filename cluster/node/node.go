package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/actors/coordinator"
	"taximeter/actors/expression"
	"taximeter/actors/host"
	"taximeter/actors/ingest"
	"taximeter/actors/partition"
	"taximeter/actors/rule"
	"taximeter/checkpoint"
	"taximeter/checkpoint/objectstore"
	"taximeter/checkpoint/pebblestore"
	"taximeter/cluster/admin"
	"taximeter/schemas"
	"taximeter/schemas/codec"
	"taximeter/schemas/registry"
	"taximeter/sinks/kafkaout"
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
	// Store and Output stand in between, for harnesses that make a node fail: the store as
	// the node sees it, and more options for the clients that send.
	Store  func(checkpoint.Store) checkpoint.Store
	Output []kgo.Opt
}

// Node is one taximeter process.
type Node struct {
	cfg      Config
	o        Options
	log      *slog.Logger
	ns       checkpoint.Namespace
	settings partition.Settings

	store       checkpoint.Store
	shared      *pebblestore.Shared
	registry    *registry.Client
	compile     rule.ExpressionCompiler
	source      *ingest.Source
	system      *actor.ActorSystem
	coordinator *actor.PID
	rounds      atomic.Pointer[coordinator.Status]
	voices      *kafkaout.Kafka
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

	mu    sync.Mutex // guards tasks, and the catalogues' contents
	tasks map[schemas.Partition]*task
	ready bool
}

// Start brings a node up: it returns when every partition runs.
func Start(ctx context.Context, cfg Config, o Options) (n *Node, err error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	n = &Node{cfg: cfg, o: o, log: o.Log, ns: checkpoint.Namespace(cfg.Namespace), settings: partition.DefaultSettings(),
		tasks: make(map[schemas.Partition]*task), born: time.Now().UnixNano(), replaced: make(chan struct{})}
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
	for _, step := range []func(context.Context) error{n.openStore, n.openKafka, n.openCatalogues, n.openChain, n.startTasks, n.openAdmin} {
		if err := step(ctx); err != nil {
			return n, err
		}
	}
	n.background(n.beat)
	return n, nil
}

func (n *Node) openStore(ctx context.Context) (err error) {
	if n.cfg.Store.S3.Bucket != "" {
		s := n.cfg.Store.S3
		n.store, err = objectstore.NewS3(objectstore.S3Config{Endpoint: s.Endpoint, Region: s.Region, Bucket: s.Bucket, Prefix: s.Prefix,
			PathStyle: s.PathStyle, AccessKey: s.AccessKey, SecretKey: s.SecretKey, Encryption: s.SSE})
		if err != nil {
			return fmt.Errorf("store.s3: %w", err)
		}
	} else {
		n.store = objectstore.NewFolder(n.cfg.Store.Folder)
	}
	if n.o.Store != nil {
		n.store = n.o.Store(n.store)
	}
	if err := objectstore.Check(ctx, n.store, string(n.ns)+"/check/"+n.token()); err != nil {
		return err
	}
	shared := pebblestore.Default()
	shared.CacheBytes = n.cfg.Memory.CacheMB << 20
	n.shared = pebblestore.NewShared(shared, n.log)
	return nil
}

func (n *Node) openKafka(ctx context.Context) (err error) {
	if n.compile, err = expression.NewCompiler(); err != nil {
		return err
	}
	if n.registry, err = registry.NewClient(registry.ClientConfig{URLs: []string{n.cfg.Registry.URL}}); err != nil {
		return err
	}
	n.source, err = ingest.New(ingest.Options{Seeds: n.cfg.Kafka.Brokers, Namespace: n.cfg.Namespace, Decoder: codec.NewDecoder(),
		Registry: n.registry, AppendTimes: n.o.AppendTimes,
		OnFault: func(err error) { n.log.Error("input stands still", "err", err) }})
	if err != nil {
		return err
	}
	return n.openVoices(ctx)
}

func (n *Node) openCatalogues(ctx context.Context) (err error) {
	if n.catalogues, err = newCatalogues(n); err != nil {
		return err
	}
	return n.catalogues.follow(ctx)
}

// openChain reads the tip, or founds the namespace, and makes sure that it speaks of the
// topics as they are now.
func (n *Node) openChain(ctx context.Context) error {
	topology, err := n.source.CheckTopics(ctx)
	if err != nil {
		return err
	}
	n.partitions = int(topology.Partitions)
	if err := n.voices.EnsureTopics(ctx, topology.Partitions); err != nil {
		return err
	}
	var ids [schemas.NumInputs]string
	for i, id := range topology.IDs {
		ids[i] = fmt.Sprintf("%x", id)
	}
	if n.o.Mode == Replay {
		if n.ends, err = n.source.EndOffsets(ctx); err != nil {
			return err
		}
	}
	chain := checkpoint.NewChain(n.store, n.ns)
	tip, err := chain.Tip(ctx)
	if errors.Is(err, checkpoint.ErrNoChain) {
		if tip, err = n.found(ctx, chain, ids); err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	if len(tip.Entries) != n.partitions {
		return fmt.Errorf("the input topics have %d partitions, the checkpoints of namespace %q %d: trips would change partition; "+
			"give the topics their old partition count, or begin a new namespace", n.partitions, n.ns, len(tip.Entries))
	}
	for i, id := range ids {
		if tip.TopicIDs[i] != id {
			return fmt.Errorf("topic %s was deleted and created again since checkpoint %d: its offsets mean other records now; begin a new namespace",
				schemas.Topic(i), tip.Number)
		}
	}
	for _, m := range tip.Members {
		if m != checkpoint.NodeID(n.cfg.NodeID) {
			return fmt.Errorf("namespace %q belongs to node %s and this node is %s: run it under that nodeId; one node per namespace in this release",
				n.ns, m, n.cfg.NodeID)
		}
	}
	n.system = actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return n.log.With("part", "protoactor") }))
	n.coordinator, err = n.system.Root.SpawnNamed(coordinator.New(coordinator.Options{Chain: chain, Node: checkpoint.NodeID(n.cfg.NodeID),
		Limits: n.limits(), Interval: n.cfg.Checkpoint.Interval, Deadline: n.cfg.Checkpoint.Deadline, Now: n.now, Token: n.token, Log: n.log},
		&n.rounds), "coordinator")
	return err
}

func (n *Node) found(ctx context.Context, chain *checkpoint.Chain, ids [schemas.NumInputs]string) (checkpoint.Manifest, error) {
	first, err := n.source.StartOffsets(ctx)
	if err != nil {
		return checkpoint.Manifest{}, err
	}
	starts := make([]checkpoint.Offsets, n.partitions)
	for p := range starts {
		starts[p] = checkpoint.Offsets(first[schemas.Partition(p)])
	}
	stamp := checkpoint.Stamp{At: n.now(), By: checkpoint.NodeID(n.cfg.NodeID), Token: n.token()}
	_, tip, err := chain.Commit(ctx, checkpoint.Genesis(n.ns, ids, starts, stamp))
	return tip, err
}

func (n *Node) limits() checkpoint.Limits {
	return checkpoint.Limits{Retain: n.cfg.Checkpoint.Retain, MaxPending: n.cfg.Checkpoint.MaxPending}
}

// startTasks assigns every partition to this life of the node in one manifest, and starts them.
func (n *Node) startTasks(ctx context.Context) error {
	changes := []checkpoint.Change{checkpoint.Join{Node: checkpoint.NodeID(n.cfg.NodeID)}}
	for p := range n.partitions {
		changes = append(changes, n.startOf(schemas.Partition(p)))
	}
	tip, err := n.assign(ctx, changes)
	if err != nil {
		return err
	}
	const atOnce = 4
	slots := make(chan struct{}, atOnce)
	failed := make(chan error, n.partitions)
	for p := range n.partitions {
		slots <- struct{}{}
		go func() {
			_, err := n.startTask(ctx, schemas.Partition(p), tip.Entries[p])
			failed <- err
			<-slots
		}()
	}
	var errs []error
	for range n.partitions {
		errs = append(errs, <-failed)
	}
	n.mu.Lock()
	n.ready = true
	n.mu.Unlock()
	return errors.Join(errs...)
}

func (n *Node) startOf(p schemas.Partition) checkpoint.Start {
	return checkpoint.Start{Partition: p, Owner: checkpoint.NodeID(n.cfg.NodeID), Incarnation: checkpoint.Incarnation(n.born + n.tokens.Add(1))}
}

func (n *Node) assign(ctx context.Context, changes []checkpoint.Change) (checkpoint.Manifest, error) {
	return ask[checkpoint.Manifest](ctx, n, n.coordinator, &coordinator.Assign{Changes: changes})
}

// restart begins a failed partition anew, until it runs or the node stops.
func (n *Node) restart(t *task) {
	if err := t.stop(); err != nil {
		n.log.Warn("failed run did not end cleanly", "partition", t.partition, "err", err)
	}
	err := n.persist(n.ctx, fmt.Sprintf("restart of partition %d", t.partition), func(ctx context.Context) error {
		ours, err := n.holds(ctx, t.partition)
		if err != nil || !ours {
			return err
		}
		tip, err := n.assign(ctx, []checkpoint.Change{n.startOf(t.partition)})
		if err != nil {
			return err
		}
		_, err = n.startTask(ctx, t.partition, tip.Entries[t.partition])
		return err
	})
	if err != nil {
		n.log.Error("partition stays down", "partition", t.partition, "err", err)
	}
}

// ErrReplaced is a node whose partitions another process took under the same node id.
var ErrReplaced = errors.New("another process runs under this nodeId and has taken the partitions over: this one ends; give each process a nodeId of its own")

// Replaced is closed when the node has found that another process took its place. It then
// does nothing more, and Stop answers ErrReplaced.
func (n *Node) Replaced() <-chan struct{} { return n.replaced }

// holds reports whether the partition's run in the chain is one that this process began.
// Taking it back would only make the two processes revoke each other for ever.
func (n *Node) holds(ctx context.Context, p schemas.Partition) (bool, error) {
	tip, err := checkpoint.NewChain(n.store, n.ns).Tip(ctx)
	if err != nil {
		return false, err
	}
	e, ok := tip.Entry(p)
	if first := checkpoint.Incarnation(n.born); ok && first < e.Incarnation && e.Incarnation <= first+checkpoint.Incarnation(n.tokens.Load()) {
		return true, nil
	}
	n.replace.Do(func() {
		n.log.Error(ErrReplaced.Error())
		close(n.replaced)
	})
	return false, nil
}

// confirm re-reads the chain: the entry if this run is the tip's.
func (n *Node) confirm(ctx context.Context, p schemas.Partition, i checkpoint.Incarnation, epoch checkpoint.Epoch) (checkpoint.Entry, error) {
	tip, err := checkpoint.NewChain(n.store, n.ns).Tip(ctx)
	if err != nil {
		return checkpoint.Entry{}, err
	}
	e, ok := tip.Entry(p)
	if !ok || e.Incarnation != i || e.Epoch != epoch || e.Owner != checkpoint.NodeID(n.cfg.NodeID) {
		return checkpoint.Entry{}, host.ErrRevoked
	}
	return e, nil
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
			n.look()
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

// Done waits until a replay's input is consumed, committed and published.
func (n *Node) Done(ctx context.Context) error {
	for {
		if n.consumed() {
			// A partition that began anew meanwhile consumes again.
			if err := n.settle(ctx); err != nil || n.consumed() {
				return err
			}
		}
		select {
		case <-time.After(beatEvery / 5):
		case <-n.replaced:
			return ErrReplaced
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (n *Node) consumed() bool {
	runs := n.runs()
	for _, t := range runs {
		if s := t.stats.Load(); s == nil || !s.Done || s.Alerts > 0 || t.failure.Load() != nil {
			return false
		}
	}
	return len(runs) == n.partitions
}

// settle commits all there is and waits until it is published.
func (n *Node) settle(ctx context.Context) error {
	for {
		out, err := n.Checkpoint(ctx)
		if err == nil && len(out.Absent) > 0 {
			err = fmt.Errorf("partitions %v could not be sealed", out.Absent)
		}
		if err == nil {
			err = n.published(ctx, out.Tip)
		}
		if err == nil {
			return nil
		}
		select {
		case <-time.After(beatEvery / 5):
		case <-n.replaced:
			return ErrReplaced
		case <-ctx.Done():
			return fmt.Errorf("not everything is committed and published; it will be at the next start: %w: %w", ctx.Err(), err)
		}
	}
}

// published waits until what the tip has pending is public, for as long as a round may take.
func (n *Node) published(ctx context.Context, tip checkpoint.Manifest) error {
	ctx, cancel := context.WithTimeout(ctx, n.cfg.Checkpoint.Deadline)
	defer cancel()
	for {
		behind := 0
		for p := range tip.Entries {
			behind += len(tip.Entries[p].Pending)
		}
		for _, t := range n.runs() {
			e := tip.Entries[t.partition]
			behind -= len(e.Pending) - len(e.Unpublished(t.Published()))
		}
		if behind == 0 {
			return nil
		}
		select {
		case <-time.After(beatEvery / 25):
		case <-ctx.Done():
			return fmt.Errorf("%d outboxes are not published", behind)
		}
	}
}

// Stop commits and publishes what there is, as far as ctx allows, and takes the node down.
// What could not be published is pending in the last checkpoint and goes out at the next start.
func (n *Node) Stop(ctx context.Context) error {
	var err error
	for _, t := range n.runs() {
		err = errors.Join(err, n.source.Remove(t.partition))
	}
	err = errors.Join(err, n.settle(ctx))
	n.takeDown()
	return err
}

func (n *Node) takeDown() {
	n.mu.Lock()
	n.ready = false
	n.mu.Unlock()
	n.cancel()
	if n.admin != nil {
		if err := n.admin.Close(); err != nil {
			n.log.Warn("admin server", "err", err)
		}
	}
	for _, t := range n.runs() {
		if err := t.stop(); err != nil {
			n.log.Warn("partition did not end cleanly", "partition", t.partition, "err", err)
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
	if n.voices != nil {
		n.voices.Close()
	}
	if n.shared != nil {
		n.shared.Close()
	}
}

func (n *Node) openAdmin(context.Context) error {
	l, err := net.Listen("tcp", n.cfg.Admin.Listen)
	if err != nil {
		return fmt.Errorf("admin server: %w: stop what listens there, or choose another address with admin.listen", err)
	}
	metrics := prometheus.NewRegistry()
	metrics.MustRegister(admin.NewCollector(n), collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	n.adminAddr = l.Addr().String()
	n.admin = &http.Server{Handler: admin.Handler(n, metrics, n.log), ReadHeaderTimeout: 5 * time.Second}
	n.background(func() {
		if err := n.admin.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			n.log.Error("admin server ended", "err", err)
		}
	})
	return nil
}

// AdminURL is where the admin server answers.
func (n *Node) AdminURL() string { return "http://" + n.adminAddr }

// now is the wall clock.
func (n *Node) now() schemas.Millis { return schemas.Millis(time.Now().UnixMilli()) }

// token is what no other process and no other life of this one says.
func (n *Node) token() string {
	return strings.Join([]string{n.cfg.NodeID, strconv.FormatInt(n.born, 36), strconv.FormatInt(n.tokens.Add(1), 36)}, "-")
}

func (n *Node) freshness() time.Duration {
	return time.Duration(n.settings.FetchFresh) * time.Millisecond
}

func (n *Node) background(f func()) {
	n.running.Add(1)
	go func() {
		defer n.running.Done()
		f()
	}()
}

// persist runs f again, after growing pauses, until it succeeds or ctx or the node ends.
func (n *Node) persist(ctx context.Context, what string, f func(context.Context) error) error {
	const first, last = 200 * time.Millisecond, 10 * time.Second
	for pause := first; ; pause = min(2*pause, last) {
		err := f(ctx)
		if err == nil || ctx.Err() != nil || n.ctx.Err() != nil {
			return err
		}
		n.log.Warn(what+" failed; trying again", "err", err, "pause", pause)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		case <-n.ctx.Done():
			return n.ctx.Err()
		}
	}
}

// ask waits for an actor's answer of type T, or an error.
func ask[T any](ctx context.Context, n *Node, pid *actor.PID, m any) (T, error) {
	var zero T
	const longest = time.Hour // ctx is what bounds it
	answer, err := await(ctx, n.system.Root.RequestFuture(pid, m, longest))
	if err != nil {
		return zero, err
	}
	switch a := answer.(type) {
	case T:
		return a, nil
	case error:
		return zero, a
	}
	return zero, fmt.Errorf("unexpected answer %T", answer)
}

func await(ctx context.Context, f actor.Future) (any, error) {
	type result struct {
		answer any
		err    error
	}
	done := make(chan result, 1)
	go func() {
		answer, err := f.Result()
		done <- result{answer, err}
	}()
	select {
	case r := <-done:
		return r.answer, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func attach(t *task) *coordinator.Attach { return &coordinator.Attach{Task: t} }
func detach(t *task) *coordinator.Detach { return &coordinator.Detach{Task: t} }
