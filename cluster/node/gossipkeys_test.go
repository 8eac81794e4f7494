package node

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"taximeter/checkpoint"
	"taximeter/cluster"
	"taximeter/cluster/gossip"
)

func TestKeysOfAFile(t *testing.T) {
	one, two := strings.Repeat("01", 16), strings.Repeat("02", 32)
	for text, want := range map[string]int{
		one:                     1,
		one + "\n" + two + "\n": 2,
		one + "," + two:         2,
		"":                      -1,
		"\n":                    -1,
		"0102":                  -1,
		one + " zz":             -1,
	} {
		path := filepath.Join(t.TempDir(), "keys")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		keys, err := Cluster{KeysFile: path}.keys()
		if (err != nil) != (want < 0) || err == nil && len(keys) != want {
			t.Errorf("%q: %d keys, %v", text, len(keys), err)
		}
	}
	if _, err := (Cluster{KeysFile: "nowhere"}).keys(); err == nil {
		t.Error("a file that is not there holds keys")
	}
}

// turning is a node of which only the gossip works, and what its log says.
type turning struct {
	*gossip.Gossip
	said chan string
}

func gossiping(t *testing.T, id, keysFile string, seeds ...string) turning {
	t.Helper()
	g := turning{said: make(chan string, 100)}
	n := &Node{cfg: Config{Cluster: Cluster{KeysFile: keysFile}}, log: slog.New(telling{slog.DiscardHandler, g.said})}
	n.ctx, n.cancel = context.WithCancel(t.Context())
	keys, err := n.cfg.Cluster.keys()
	if err != nil {
		t.Fatal(err)
	}
	g.Gossip, err = gossip.Start(gossip.Config{Self: cluster.Member{ID: checkpoint.NodeID(id), Weight: 1, Speaks: cluster.Protocols{Min: 1, Max: 1}}, Listen: "127.0.0.1:0",
		Seeds: seeds, Bootstrap: len(seeds) == 0, Keys: keys, Profile: gossip.Local}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	n.background(func() { n.followKeys(g.Gossip, keys) })
	t.Cleanup(func() {
		n.cancel()
		n.running.Wait()
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	return g
}

// telling passes on what is logged.
type telling struct {
	slog.Handler
	said chan string
}

func (telling) Enabled(context.Context, slog.Level) bool { return true }

func (h telling) Handle(_ context.Context, r slog.Record) error {
	h.said <- r.Message
	return nil
}

func (g turning) hears(t *testing.T, want string) {
	t.Helper()
	select {
	case said := <-g.said:
		if !strings.HasPrefix(said, want) {
			t.Fatalf("it said %q, not %q", said, want)
		}
	case <-time.After(30 * time.Second):
		t.Fatalf("nobody said %q", want)
	}
}

func (g turning) meets(t *testing.T, n int) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for len(g.View().Members) != n {
		select {
		case <-g.Views():
		case <-deadline:
			t.Fatalf("it sees %v, %d are due", g.View().Members, n)
		}
	}
}

func TestKeysAreRotatedWhileTheNodeRuns(t *testing.T) {
	one, two := strings.Repeat("01", 16), strings.Repeat("02", 16)
	dir := t.TempDir()
	path := func(id string) string { return filepath.Join(dir, id) }
	write := func(id, keys string) {
		if err := os.WriteFile(path(id), []byte(keys), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a", one)
	write("b", one)
	a := gossiping(t, "a", path("a"))
	b := gossiping(t, "b", path("b"), a.Addr())
	a.meets(t, 2)
	for _, keys := range []string{one + " " + two, two + " " + one, two} {
		write("a", keys)
		write("b", keys)
		a.hears(t, "gossip keys changed")
		b.hears(t, "gossip keys changed")
	}
	write("b", "no key at all")
	b.hears(t, "gossip keys stay as they were")
	write("c", two)
	gossiping(t, "c", path("c"), a.Addr())
	a.meets(t, 3)
	b.meets(t, 3)
	if len(a.View().Lost) > 0 || len(b.View().Lost) > 0 {
		t.Errorf("rotation lost somebody: %v, %v", a.View().Lost, b.View().Lost)
	}
}
