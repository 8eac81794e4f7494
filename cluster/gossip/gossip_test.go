package gossip

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/memberlist"

	"taximeter/checkpoint"
	"taximeter/cluster"
)

// patience is far beyond what anything here takes, for machines with much else to do.
const patience = 30 * time.Second

func member(id string) cluster.Member {
	return cluster.Member{ID: checkpoint.NodeID(id), Life: 1, Weight: 1, Speaks: cluster.Protocols{Min: 1, Max: 1}, Remote: "127.0.0.1:1"}
}

func config(id string, seeds ...string) Config {
	return Config{Self: member(id), Listen: "127.0.0.1:0", Seeds: seeds, Bootstrap: len(seeds) == 0, Profile: Local, Label: "test"}
}

func begin(t *testing.T, cfg Config) *Gossip {
	t.Helper()
	return beginOn(t, cfg, nil, slog.New(slog.DiscardHandler))
}

func beginOn(t *testing.T, cfg Config, n *network, log *slog.Logger) *Gossip {
	t.Helper()
	w := world{lookup: func(context.Context, string) ([]string, error) { return []string{"127.0.0.3", "127.0.0.1"}, nil }}
	if n != nil {
		w.wrap = func(inner memberlist.NodeAwareTransport) memberlist.NodeAwareTransport {
			return &wire{NodeAwareTransport: inner, network: n, id: string(cfg.Self.ID)}
		}
	}
	g, err := start(cfg, log, w)
	if err != nil {
		t.Fatal(err)
	}
	n.plug(string(cfg.Self.ID), g.own)
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Errorf("close %s: %v", cfg.Self.ID, err)
		}
	})
	return g
}

// await reads views until one satisfies.
func await(t *testing.T, g *Gossip, what string, ok func(cluster.View) bool) cluster.View {
	t.Helper()
	v := g.View()
	deadline := time.After(patience)
	for !ok(v) {
		select {
		case v = <-g.Views():
		case <-deadline:
			t.Fatalf("%s never saw %s; last view %+v", g.cfg.Self.ID, what, g.View())
		}
	}
	return v
}

// sees is a view with these members reachable.
func sees(all ...string) func(cluster.View) bool {
	return func(v cluster.View) bool { return slices.Equal(names(v.Members), all) }
}

func names(members []cluster.Member) []string {
	var all []string
	for _, m := range members {
		all = append(all, string(m.ID))
	}
	return all
}

func three(t *testing.T, n *network) (a, b, c *Gossip) {
	log := slog.New(slog.DiscardHandler)
	a = beginOn(t, config("a"), n, log)
	b = beginOn(t, config("b", a.Addr()), n, log)
	c = beginOn(t, config("c", a.Addr()), n, log)
	for _, g := range []*Gossip{a, b, c} {
		await(t, g, "all three", sees("a", "b", "c"))
	}
	return a, b, c
}

func TestNodesMeetAndTellTheirDuty(t *testing.T) {
	a, b, c := three(t, nil)
	b.SetDuty(cluster.Draining)
	for _, g := range []*Gossip{a, b, c} {
		v := await(t, g, "b draining", func(v cluster.View) bool { m, _ := v.Member("b"); return m.Duty == cluster.Draining })
		if m, _ := v.Member("b"); m.Remote != "127.0.0.1:1" || m.Weight != 1 || !v.Joined {
			t.Errorf("%s sees %+v", g.cfg.Self.ID, v)
		}
	}
}

func TestLeavesAndCrashesShow(t *testing.T) {
	a, b, c := three(t, nil)
	began := time.Now()
	if err := b.Leave(t.Context()); err != nil {
		t.Fatal(err)
	}
	await(t, a, "b leaving", sees("a", "c"))
	await(t, c, "b leaving", sees("a", "c"))
	t.Logf("leave seen after %s", time.Since(began))
	began = time.Now()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	v := await(t, a, "c crashing", sees("a"))
	t.Logf("crash seen after %s", time.Since(began))
	if !slices.Equal(names(v.Lost), []string{"b", "c"}) || v.Lost[1].Weight != 1 {
		t.Errorf("lost: %+v", v.Lost)
	}
}

func TestNobodyMetIsNotJoined(t *testing.T) {
	dead := freeAddr(t)
	a := begin(t, config("a", dead))
	if v := a.View(); v.Joined || !slices.Equal(names(v.Members), []string{"a"}) {
		t.Fatalf("alone: %+v", v)
	}
	// Its own address among the seeds is nobody met.
	cfg := config("b", dead)
	cfg.Listen = dead
	b := begin(t, cfg)
	await(t, a, "the seed that came late", sees("a", "b"))
	if v := await(t, b, "a", sees("a", "b")); !v.Joined {
		t.Fatal("met somebody and has not joined")
	}
}

func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}()
	return l.Addr().String()
}

// A restart within the suspicion time is no death to anybody: only its life differs.
func TestAFastRestartShows(t *testing.T) {
	a := begin(t, config("a"))
	cfg := config("b", a.Addr())
	cfg.Listen = freeAddr(t)
	b := begin(t, cfg)
	await(t, a, "b", sees("a", "b"))
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	cfg.Self.Life = 2
	begin(t, cfg)
	await(t, a, "b's second life", func(v cluster.View) bool { m, _ := v.Member("b"); return m.Life == 2 })
}

func TestARestartElsewhereIsTakenIn(t *testing.T) {
	a := begin(t, config("a"))
	b := begin(t, config("b", a.Addr()))
	await(t, a, "b", sees("a", "b"))
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	cfg := config("b", a.Addr())
	cfg.Self.Life = 2
	b2 := begin(t, cfg)
	await(t, a, "b elsewhere", func(v cluster.View) bool { m, _ := v.Member("b"); return m.Life == 2 && len(v.Lost) == 0 })
	await(t, b2, "a", sees("a", "b"))
}

func TestTwoUnderOneNameAreTold(t *testing.T) {
	told := newRecorder("give each node its own nodeId")
	a := beginOn(t, config("a"), nil, slog.New(told))
	b := begin(t, config("b", a.Addr()))
	await(t, a, "b", sees("a", "b"))
	twin := config("b", a.Addr())
	twin.Self.Life = 2
	begin(t, twin)
	told.await(t)
	if m, _ := a.View().Member("b"); m.Life != 1 {
		t.Error("the one that was there first gave way")
	}
	_ = b
}

func TestForeignProtocolsAreKeptOutWithAReason(t *testing.T) {
	told := newRecorder("upgrade step by step")
	a := beginOn(t, config("a"), nil, slog.New(told))
	cfg := config("b", a.Addr())
	cfg.Self.Speaks = cluster.Protocols{Min: 2, Max: 3}
	begin(t, cfg)
	told.await(t)
	cfg = config("c", a.Addr())
	cfg.Self.Speaks = cluster.Protocols{Min: 1, Max: 2}
	begin(t, cfg)
	await(t, a, "only c", sees("a", "c"))
}

func TestViewsNeverBlock(t *testing.T) {
	a := begin(t, config("a"))
	b := begin(t, config("b", a.Addr()))
	await(t, a, "b", sees("a", "b"))
	// Nobody reads b's views meanwhile, and everybody asks: memberlist must go on.
	var asking sync.WaitGroup
	for i := range 4 {
		asking.Go(func() {
			for j := range 10 {
				b.SetDuty([]cluster.Duty{cluster.Serving, cluster.Draining}[(i+j)%2])
				_ = b.View()
			}
		})
	}
	asking.Wait()
	b.SetDuty(cluster.Resigned)
	resigned := func(v cluster.View) bool { m, _ := v.Member("b"); return m.Duty == cluster.Resigned }
	await(t, a, "b resigned", resigned)
	if v := <-b.Views(); !resigned(v) {
		t.Errorf("the one view that waits is an old one: %+v", v)
	}
}

func key(b byte) []byte { return slices.Repeat([]byte{b}, 32) }

func TestKeysRotate(t *testing.T) {
	with := func(c Config, keys ...[]byte) Config {
		c.Keys = keys
		return c
	}
	a := begin(t, with(config("a"), key(1)))
	b := begin(t, with(config("b", a.Addr()), key(1)))
	await(t, a, "b", sees("a", "b"))
	for _, keys := range [][][]byte{{key(1), key(2)}, {key(2), key(1)}, {key(2)}} {
		for _, g := range []*Gossip{a, b} {
			if err := g.SetKeys(keys); err != nil {
				t.Fatal(err)
			}
		}
	}
	begin(t, with(config("old", a.Addr()), key(1)))
	begin(t, config("plain", a.Addr()))
	stranger := with(config("stranger", a.Addr()), key(2))
	stranger.Label = "another"
	begin(t, stranger)
	c := begin(t, with(config("c", a.Addr()), key(2)))
	await(t, c, "all", sees("a", "b", "c"))
	await(t, a, "the one with the new key", sees("a", "b", "c"))
	if err := a.SetKeys(nil); err == nil {
		t.Error("encryption ends at run time")
	}
}

func TestOnlyAllowedNetworks(t *testing.T) {
	cfg := config("a")
	cfg.Allowed = []string{"10.0.0.0/8"}
	if _, err := Start(cfg, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "outside the allowed networks") {
		t.Errorf("own address outside: %v", err)
	}
	cfg.Allowed = []string{"127.0.0.1/32"}
	a := begin(t, cfg)
	out := config("out", a.Addr())
	out.Listen = "127.0.0.2:0"
	begin(t, out)
	begin(t, config("in", a.Addr()))
	await(t, a, "only the one inside", sees("a", "in"))
}

func TestANameStandsForAllItsAddresses(t *testing.T) {
	a := begin(t, config("a"))
	_, port, err := net.SplitHostPort(a.Addr())
	if err != nil {
		t.Fatal(err)
	}
	b := begin(t, config("b", "nodes.example:"+port))
	await(t, b, "a by its name", sees("a", "b"))
}

func TestStrangersDoNoHarm(t *testing.T) {
	a := begin(t, config("a"))
	for _, network := range []string{"udp", "tcp"} {
		conn, err := net.Dial(network, a.Addr())
		if err != nil {
			t.Fatal(err)
		}
		for i := range 200 {
			_, err = conn.Write(fmt.Appendf(nil, "%c garbage %d \xff\x00", i, i))
		}
		_ = err // the node may have hung up
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}
	begin(t, config("b", a.Addr()))
	await(t, a, "b after the garbage", sees("a", "b"))
}

// recorder waits for a log line.
type recorder struct {
	want string
	seen chan struct{}
	once *sync.Once
}

func newRecorder(want string) recorder {
	return recorder{want: want, seen: make(chan struct{}), once: new(sync.Once)}
}

func (r recorder) Enabled(context.Context, slog.Level) bool { return true }
func (r recorder) WithAttrs([]slog.Attr) slog.Handler       { return r }
func (r recorder) WithGroup(string) slog.Handler            { return r }
func (r recorder) Handle(_ context.Context, rec slog.Record) error {
	rec.Attrs(func(a slog.Attr) bool {
		if strings.Contains(a.Value.String(), r.want) {
			r.once.Do(func() { close(r.seen) })
		}
		return true
	})
	return nil
}

func (r recorder) await(t *testing.T) {
	t.Helper()
	select {
	case <-r.seen:
	case <-time.After(patience):
		t.Fatalf("nobody was told %q", r.want)
	}
}

var errCut = errors.New("cut")
