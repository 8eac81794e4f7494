package gossip

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"

	"taximeter/checkpoint"
	"taximeter/cluster"
)

// Gossip is one node's part in the cluster's gossip.
type Gossip struct {
	cfg     Config
	log     *slog.Logger
	list    *memberlist.Memberlist
	keyring *memberlist.Keyring
	own     string // address that the others know us by
	lookup  func(ctx context.Context, host string) ([]string, error)

	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup
	telling sync.Mutex // one announcement at a time

	// mu guards what follows. memberlist calls us with its own lock held: whoever holds mu
	// must neither wait nor call memberlist.
	mu      sync.Mutex
	self    cluster.Member
	again   int // how often to repeat what we say of ourselves
	joined  bool
	alive   map[checkpoint.NodeID]peer
	lost    map[checkpoint.NodeID]peer
	refused map[string]string // node at address -> why; told once each
	// disputed is when another last said that this node is at another address.
	disputed time.Time
	view     cluster.View
	views    chan cluster.View
}

type peer struct {
	cluster.Member
	addr string    // of its gossip
	at   time.Time // when it was lost
}

// Start listens, tells the world of this node, and begins to join the seeds; it does not
// wait for them. Views tells when somebody was met.
func Start(cfg Config, log *slog.Logger) (*Gossip, error) {
	return start(cfg, log, world{lookup: net.DefaultResolver.LookupHost})
}

// world is what tests replace.
type world struct {
	lookup func(ctx context.Context, host string) ([]string, error)
	wrap   func(memberlist.NodeAwareTransport) memberlist.NodeAwareTransport // nil = as it is
}

func start(cfg Config, log *slog.Logger, w world) (*Gossip, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	g := &Gossip{cfg: cfg, log: log, lookup: w.lookup, self: cfg.Self, joined: cfg.Bootstrap,
		alive: make(map[checkpoint.NodeID]peer), lost: make(map[checkpoint.NodeID]peer), refused: make(map[string]string),
		views: make(chan cluster.View, 1)}
	g.ctx, g.cancel = context.WithCancel(context.Background())
	mc := cfg.Profile.tune()
	mc.Name, mc.Label, mc.Logger = string(cfg.Self.ID), cfg.Label, newLogger(log)
	mc.Delegate, mc.Events, mc.Alive, mc.Conflict = delegate{g}, delegate{g}, delegate{g}, delegate{g}
	var err error
	if mc.CIDRsAllowed, err = memberlist.ParseCIDRs(cfg.Allowed); err != nil {
		return nil, err
	}
	if len(cfg.Keys) > 0 {
		if g.keyring, err = memberlist.NewKeyring(cfg.Keys, cfg.Keys[0]); err != nil {
			return nil, err
		}
		mc.Keyring = g.keyring
	}
	transport, err := g.listen(mc)
	if err != nil {
		return nil, fmt.Errorf("gossip on %s: %w", cfg.Listen, err)
	}
	mc.Transport = transport
	if w.wrap != nil {
		mc.Transport = w.wrap(transport)
	}
	if g.list, err = memberlist.Create(mc); err != nil {
		return nil, errors.Join(fmt.Errorf("gossip on %s: %w", cfg.Listen, err), transport.Shutdown())
	}
	g.background(g.rejoin)
	g.background(func() { watch(g.ctx, suspicion(mc), g.paused) })
	return g, nil
}

// listen opens the port, and makes sure that our own address is one that we allow: without
// that check memberlist would refuse ourselves and then fall over it.
func (g *Gossip) listen(mc *memberlist.Config) (*memberlist.NetTransport, error) {
	host, port, err := splitAddr(g.cfg.Listen)
	if err != nil {
		return nil, err
	}
	if host == "" {
		host = "0.0.0.0"
	}
	// A free TCP port that the system picked may be taken for UDP.
	tries := 1
	if port == 0 {
		tries = 10
	}
	var transport *memberlist.NetTransport
	for range tries {
		transport, err = memberlist.NewNetTransport(&memberlist.NetTransportConfig{BindAddrs: []string{host}, BindPort: port, Logger: mc.Logger})
		if err == nil {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	mc.BindAddr, mc.BindPort = host, transport.GetAutoBindPort()
	mc.AdvertiseAddr, mc.AdvertisePort = "", mc.BindPort
	if g.cfg.Advertise != "" {
		if mc.AdvertiseAddr, mc.AdvertisePort, err = splitAddr(g.cfg.Advertise); err != nil {
			return nil, errors.Join(err, transport.Shutdown())
		}
	}
	ip, final, err := transport.FinalAdvertiseAddr(mc.AdvertiseAddr, mc.AdvertisePort)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("no address to advertise: %w: name one with advertise", err), transport.Shutdown())
	}
	if mc.IPAllowed(ip) != nil {
		return nil, errors.Join(fmt.Errorf("this node's own address %s lies outside the allowed networks %v", ip, g.cfg.Allowed), transport.Shutdown())
	}
	g.own = (&memberlist.Node{Addr: ip, Port: uint16(final)}).Address()
	return transport, nil
}

// Addr is host:port by which other nodes reach this one's gossip.
func (g *Gossip) Addr() string { return g.own }

// Views delivers the newest view; one that nobody took is replaced. For one reader.
func (g *Gossip) Views() <-chan cluster.View { return g.views }

// View is the newest one.
func (g *Gossip) View() cluster.View {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.view
}

// publish makes the view anew. g.mu must be held.
func (g *Gossip) publish() {
	g.joined = g.joined || len(g.alive) > 1
	g.view = cluster.View{Self: g.self.ID, Joined: g.joined, Members: members(g.alive), Lost: members(g.lost)}
	select {
	case <-g.views:
	default:
	}
	g.views <- g.view // only publish sends, and the slot is free
}

func members(peers map[checkpoint.NodeID]peer) []cluster.Member {
	var all []cluster.Member
	for _, p := range peers {
		all = append(all, p.Member)
	}
	slices.SortFunc(all, func(a, b cluster.Member) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// SetDuty tells the others what this node is ready to do from now on. It does not wait: they
// hear of it within a few gossip intervals, in bad luck a few seconds.
func (g *Gossip) SetDuty(d cluster.Duty) {
	g.mu.Lock()
	g.self.Duty, g.again = d, sayAgain
	g.mu.Unlock()
	g.announce()
}

// sayAgain: memberlist v0.7.0 may lose what we say. Its queue of broadcasts numbers messages
// from 1 again when the last one is replaced, and takes two of one length and number for
// the same.
const sayAgain = 2

func (g *Gossip) announce() {
	g.telling.Lock()
	defer g.telling.Unlock()
	// Its only error is that nobody heard in time, and it is often wrong: it signals into a
	// channel that it may not be reading yet.
	_ = g.list.UpdateNode(time.Millisecond)
}

// SetKeys replaces the keyring: the first key encrypts, all decrypt. Rotate in three rounds
// over all nodes, each finished before the next: {old, new}, {new, old}, {new}.
func (g *Gossip) SetKeys(keys [][]byte) error {
	if g.keyring == nil || len(keys) == 0 {
		return errors.New("gossip keys: encryption is chosen at the start of a node, for all nodes alike; restart it with keys, or without")
	}
	for i, key := range keys {
		if err := g.keyring.AddKey(key); err != nil {
			return fmt.Errorf("gossip keys[%d]: %w", i, err)
		}
	}
	if err := g.keyring.UseKey(keys[0]); err != nil {
		return fmt.Errorf("gossip keys[0]: %w", err)
	}
	for _, key := range g.keyring.GetKeys() {
		if !slices.ContainsFunc(keys, func(k []byte) bool { return bytes.Equal(k, key) }) {
			if err := g.keyring.RemoveKey(key); err != nil {
				return fmt.Errorf("gossip keys: drop an old one: %w", err)
			}
		}
	}
	return nil
}

// Leave tells the others that this node goes, as far as ctx allows, and closes.
func (g *Gossip) Leave(ctx context.Context) error {
	const most = 5 * time.Second
	timeout := most
	if deadline, ok := ctx.Deadline(); ok {
		timeout = max(time.Millisecond, min(most, time.Until(deadline))) // 0 would be for ever
	}
	err := g.list.Leave(timeout)
	if err != nil {
		err = fmt.Errorf("leave the cluster: %w", err)
	}
	return errors.Join(err, g.Close())
}

// Close falls silent without a word: the others see a crash.
func (g *Gossip) Close() error {
	g.cancel()
	err := g.list.Shutdown()
	g.running.Wait()
	return err
}

func (g *Gossip) background(f func()) {
	g.running.Add(1)
	go func() {
		defer g.running.Done()
		f()
	}()
}

func (g *Gossip) paused(late time.Duration) {
	g.log.Warn("this process stood still for longer than others need to call it dead", "late", late)
	if g.cfg.OnPause != nil {
		g.cfg.OnPause(late)
	}
}
