package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"taximeter/actors/coordinator"
	"taximeter/actors/expression"
	"taximeter/actors/ingest"
	"taximeter/checkpoint"
	"taximeter/checkpoint/objectstore"
	"taximeter/checkpoint/pebblestore"
	"taximeter/cluster"
	"taximeter/cluster/admin"
	"taximeter/cluster/gossip"
	"taximeter/cluster/grain"
	"taximeter/schemas"
	"taximeter/schemas/codec"
)

// writable proves that the folder for local state can be made and written.
func writable(dir string) error {
	err := os.MkdirAll(dir, 0o755)
	if err == nil {
		var probe *os.File
		if probe, err = os.CreateTemp(dir, ".write-check-"); err == nil {
			err = errors.Join(probe.Close(), os.Remove(probe.Name()))
		}
	}
	if err != nil {
		return fmt.Errorf("the data folder cannot be written: %w: choose another with data", err)
	}
	return nil
}

func (n *Node) openStore(ctx context.Context) (err error) {
	if err := writable(n.cfg.Data); err != nil {
		return err
	}
	if n.store, err = n.cfg.Store.Open(); err != nil {
		return err
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
	if n.registry, err = n.cfg.Registry.Client(0); err != nil {
		return err
	}
	if err := n.cfg.Kafka.Check(ctx); err != nil {
		return err
	}
	n.waits = admin.NewInputWaits()
	n.source, err = ingest.New(ingest.Options{Client: n.cfg.Kafka.Options(), Namespace: n.cfg.Namespace, Decoder: codec.NewDecoder(),
		Registry: n.registry, AppendTimes: n.o.AppendTimes, OnWait: func(d time.Duration) { n.waits.Observe(d.Seconds()) },
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
	for errors.Is(err, checkpoint.ErrNoChain) {
		if n.cfg.Cluster.Listen == "" || n.cfg.Cluster.Bootstrap {
			tip, err = n.found(ctx, chain, ids)
			break
		}
		n.log.Warn("waiting for another node to begin the namespace; the first node needs cluster.bootstrap", "namespace", n.ns)
		select {
		case <-time.After(time.Second):
			tip, err = chain.Tip(ctx)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if err != nil {
		return err
	}
	if err := n.cfg.Cluster.speaks().Understands(tip, n.id()); err != nil {
		return err
	}
	if len(tip.Entries) != n.partitions {
		return fmt.Errorf("the input topics have %d partitions, the checkpoints of namespace %q %d: trips would change partition; "+
			"give the topics their old partition count, or begin a new namespace", n.partitions, n.ns, len(tip.Entries))
	}
	for i, id := range ids {
		if tip.TopicIDs[i] != id {
			return fmt.Errorf("topic %s was deleted and created again since checkpoint %d: its offsets mean other records now; see taximeter partition set-offset --partition all",
				schemas.Topic(i), tip.Number)
		}
	}
	if err := n.meetsNoOtherMode(ctx, tip.Members); err != nil {
		return err
	}
	for p, e := range tip.Entries {
		if err := n.timeGoesOn(schemas.Partition(p), e); err != nil {
			return err
		}
	}
	if n.cfg.Cluster.Listen == "" {
		for _, m := range tip.Members {
			if m != n.id() {
				return fmt.Errorf("namespace %q belongs to node %s and this node is %s, alone: run it under that nodeId, or let them meet with cluster.listen",
					n.ns, m, n.cfg.NodeID)
			}
		}
	}
	n.system = actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return n.log.With("part", "protoactor") }))
	n.coordinator, err = n.system.Root.SpawnNamed(coordinator.New(coordinator.Options{Chain: chain, Seen: n.tip.Load, Node: checkpoint.NodeID(n.cfg.NodeID),
		Limits: n.limits(), Interval: n.cfg.Checkpoint.Interval, Deadline: n.cfg.Checkpoint.Deadline, Now: n.clock.now, Token: n.token, Log: n.log},
		&n.rounds), "coordinator")
	return err
}

// timeGoesOn reports that a live node may go on from an entry.
func (n *Node) timeGoesOn(p schemas.Partition, e checkpoint.Entry) error {
	if n.o.Mode == Live && e.Watermark == schemas.EndOfTime {
		return fmt.Errorf("a replay of namespace %q has ended event time in partition %d: whatever comes now would be too late; "+
			"run live under another namespace (in dev: with another data folder), restore a checkpoint of before, or replay again", n.ns, p)
	}
	return nil
}

func (n *Node) found(ctx context.Context, chain *checkpoint.Chain, ids [schemas.NumInputs]string) (checkpoint.Manifest, error) {
	for p := range n.partitions {
		made, err := n.voices.Published(ctx, schemas.Partition(p))
		if err != nil {
			return checkpoint.Manifest{}, err
		}
		if made > 0 {
			// A new chain counts from 1: what it publishes would be taken for published already.
			return checkpoint.Manifest{}, fmt.Errorf("the checkpoints of namespace %q are gone: %s says that partition %d has published up to number %d, and the store is empty; "+
				"bring the store back, or begin a new namespace", n.ns, schemas.TopicCommits, p, made)
		}
	}
	first, err := n.source.StartOffsets(ctx)
	if err != nil {
		return checkpoint.Manifest{}, err
	}
	starts := make([]checkpoint.Offsets, n.partitions)
	for p := range starts {
		starts[p] = checkpoint.Offsets(first[schemas.Partition(p)])
	}
	stamp := checkpoint.Stamp{At: n.clock.now(), By: checkpoint.NodeID(n.cfg.NodeID), Token: n.token()}
	genesis := checkpoint.Genesis(n.ns, ids, starts, stamp)
	genesis.Protocol = n.cfg.Cluster.speaks().Max
	_, tip, err := chain.Commit(ctx, genesis)
	return tip, err
}

func (n *Node) limits() checkpoint.Limits {
	return checkpoint.Limits{Retain: n.cfg.Checkpoint.Retain, MaxPending: n.cfg.Checkpoint.MaxPending}
}

// openCluster begins to look for the other nodes.
func (n *Node) openCluster(context.Context) error {
	c := n.cfg.Cluster
	n.standby = newStandby(n)
	if c.Listen == "" {
		n.crew = newCrew(n, nil)
		return nil
	}
	keys, err := c.keys()
	if err != nil {
		return fmt.Errorf("cluster.keysFile: %w", err)
	}
	g, err := gossip.Start(gossip.Config{Self: n.member(), Listen: c.Listen, Advertise: c.Advertise, Seeds: c.Seeds, Bootstrap: c.Bootstrap,
		Keys: keys, Label: "taximeter/" + n.cfg.Namespace, Allowed: c.Allowed,
		OnPause: n.woke}, n.log)
	if err != nil {
		return fmt.Errorf("cluster gossip: %w", err)
	}
	if c.KeysFile != "" {
		n.background(func() { n.followKeys(g, keys) })
	}
	n.crew = newCrew(n, g)
	security := grain.Security{Cert: c.TLS.Cert, Key: c.TLS.Key, CA: c.TLS.CA}
	if n.peers, err = grain.NewClient(security); err != nil {
		return err
	}
	n.remote, err = grain.NewServer(c.Remote, security, n.answer, n.log)
	return err
}

// member is what this node says of itself.
func (n *Node) member() cluster.Member {
	return cluster.Member{ID: n.id(), Life: n.born, Remote: n.cfg.Cluster.Remote, Admin: n.cfg.Admin.advertised(), Version: n.o.Version,
		Speaks: n.cfg.Cluster.speaks(), Weight: n.cfg.Cluster.Weight, Zone: n.cfg.Cluster.Zone, Duty: cluster.Serving}
}

// takeSeat steps until what is ours runs, or somebody asks for the end. A partition that cannot
// be started ends the start of a node that is alone; of a cluster it is tried again while the
// others work.
func (n *Node) takeSeat(ctx context.Context) error {
	for {
		// Not ended by ctx: who leaves must know what was assigned.
		if _, err := n.crew.step(n.ctx); err != nil && !errors.Is(err, coordinator.ErrDecidedAnew) {
			return err
		}
		select {
		case err := <-n.faults:
			if n.crew.gossip == nil {
				return err
			}
		default:
		}
		if n.crew.seated && (n.crew.gossip != nil || len(n.runs()) == n.partitions) {
			n.mu.Lock()
			n.ready = true
			n.mu.Unlock()
			return nil
		}
		select {
		case <-n.crew.wake:
		case <-time.After(stepEvery):
		case <-n.drain:
			return nil
		case <-n.replaced:
			return ErrReplaced
		case <-ctx.Done():
			return cmp.Or(n.unseat(ctx), ctx.Err()) // who could not leave says so
		}
	}
}

// unseat gives back what the chain has given to a node whose start is ended: the others would
// wait until they call it dead.
func (n *Node) unseat(ctx context.Context) error {
	if n.crew.gossip == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveReserve)
	defer cancel()
	err := n.crew.leave(ctx)
	n.crew.farewell(ctx)
	return err
}

func (n *Node) firstFault(err error) {
	select {
	case n.faults <- err:
	default:
	}
}

func (n *Node) openAdmin(context.Context) error {
	l, err := net.Listen("tcp", n.cfg.Admin.Listen)
	if err != nil {
		return fmt.Errorf("admin server: %w: stop what listens there, or choose another address with admin.listen", err)
	}
	metrics := prometheus.NewRegistry()
	metrics.MustRegister(admin.NewCollector(n), n.waits, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if err := n.openDelivery(metrics); err != nil {
		return errors.Join(err, l.Close())
	}
	if n.cfg.Admin.exposed(l.Addr()) {
		n.log.Warn("the admin API shows trips, positions and bills to whoever reaches it: set admin.tokenFile, or listen on 127.0.0.1", "listen", l.Addr().String())
	}
	n.adminAddr = l.Addr().String()
	n.admin = n.adminServer(admin.Handler(anywhere{n}, metrics, n.log))
	n.background(func() {
		if err := n.cfg.Admin.serve(n.admin, l); !errors.Is(err, http.ErrServerClosed) {
			n.log.Error("admin server ended", "err", err)
		}
	})
	return nil
}
