package gossip

import (
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/memberlist"

	"taximeter/cluster"
)

// network lets a test cut it. Packets into a cut vanish, streams fail.
type network struct {
	mu    sync.Mutex
	ids   map[string]string // by address
	sides map[string]int
}

func newNetwork() *network { return &network{ids: make(map[string]string)} }

func (n *network) plug(id, addr string) {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ids[addr] = id
}

// cut splits the network into sides; who is named in none is in the first.
func (n *network) cut(sides ...[]string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.sides = make(map[string]int)
	for i, side := range sides {
		for _, id := range side {
			n.sides[id] = i
		}
	}
}

func (n *network) between(id, addr string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.sides[id] == n.sides[n.ids[addr]]
}

type wire struct {
	memberlist.NodeAwareTransport
	network *network
	id      string
}

func (w *wire) WriteToAddress(b []byte, a memberlist.Address) (time.Time, error) {
	if !w.network.between(w.id, a.Addr) {
		return time.Now(), nil
	}
	return w.NodeAwareTransport.WriteToAddress(b, a)
}

func (w *wire) DialAddressTimeout(a memberlist.Address, timeout time.Duration) (net.Conn, error) {
	if !w.network.between(w.id, a.Addr) {
		return nil, errCut
	}
	return w.NodeAwareTransport.DialAddressTimeout(a, timeout)
}

func TestAnIsolatedNodeRejoinsAfterTheHeal(t *testing.T) {
	n := newNetwork()
	a, b, c := three(t, n)
	n.cut([]string{"a", "b"}, []string{"c"})
	await(t, a, "c cut off", sees("a", "b"))
	await(t, b, "c cut off", sees("a", "b"))
	v := await(t, c, "itself alone", sees("c"))
	if !slices.Equal(names(v.Lost), []string{"a", "b"}) {
		t.Errorf("the isolated one has lost %v", names(v.Lost))
	}
	healed := time.Now()
	n.cut()
	for _, g := range []*Gossip{a, b, c} {
		await(t, g, "all again", sees("a", "b", "c"))
	}
	t.Logf("all again %s after the heal", time.Since(healed))
}

// The only seed is dead: halves find each other by the addresses of those they lost.
func TestHalvesRejoinWithoutTheSeed(t *testing.T) {
	n := newNetwork()
	a, b, c := three(t, n)
	n.cut([]string{"a", "b"}, []string{"c"})
	await(t, c, "itself alone", sees("c"))
	await(t, b, "c cut off", sees("a", "b"))
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	await(t, b, "the seed's death", sees("b"))
	n.cut()
	await(t, b, "c again", sees("b", "c"))
	await(t, c, "b again", sees("b", "c"))
}

func TestALostMemberIsForgottenInTheEnd(t *testing.T) {
	a := begin(t, config("a"))
	a.mu.Lock()
	a.lost["x"] = peer{Member: cluster.Member{ID: "x"}, addr: "127.0.0.1:9", at: time.Now().Add(-forgetAfter - time.Second)}
	a.lost["y"] = peer{Member: cluster.Member{ID: "y"}, addr: "127.0.0.1:8", at: time.Now()}
	a.mu.Unlock()
	if got := a.targets(); !slices.Equal(got, []string{"127.0.0.1:8"}) {
		t.Errorf("still looks for %v", got)
	}
}
