package gossip

import (
	"fmt"
	"time"

	"github.com/hashicorp/memberlist"
)

// delegate is what memberlist calls, most of it with its lock held: it may touch g's own
// fields under g.mu and nothing else. In particular memberlist.Members() would deadlock;
// the view is built from what is told here.
type delegate struct{ g *Gossip }

var (
	_ memberlist.Delegate         = delegate{}
	_ memberlist.EventDelegate    = delegate{}
	_ memberlist.AliveDelegate    = delegate{}
	_ memberlist.ConflictDelegate = delegate{}
)

func (d delegate) NotifyJoin(n *memberlist.Node)   { d.met(n) }
func (d delegate) NotifyUpdate(n *memberlist.Node) { d.met(n) } // a fast restart comes as this, too

func (d delegate) met(n *memberlist.Node) {
	m, err := decode(n.Name, n.Meta)
	if err != nil {
		return // NotifyAlive has refused it, and told
	}
	d.g.mu.Lock()
	defer d.g.mu.Unlock()
	delete(d.g.lost, m.ID)
	d.g.alive[m.ID] = peer{Member: m, addr: n.Address()}
	d.g.publish()
}

// NotifyLeave hears of deaths and of leaves; memberlist does not say which it is.
func (d delegate) NotifyLeave(n *memberlist.Node) {
	m, err := decode(n.Name, n.Meta)
	if err != nil {
		return
	}
	d.g.mu.Lock()
	defer d.g.mu.Unlock()
	delete(d.g.alive, m.ID)
	d.g.lost[m.ID] = peer{Member: m, addr: n.Address(), at: time.Now()}
	d.g.publish()
}

// NotifyAlive keeps out who does not speak our protocol.
func (d delegate) NotifyAlive(n *memberlist.Node) error {
	m, err := decode(n.Name, n.Meta)
	if err == nil {
		if _, ok := d.g.cfg.Self.Speaks.Common(m.Speaks); !ok {
			err = fmt.Errorf("it speaks protocol versions %d to %d and this node %d to %d: upgrade step by step, so that each two neighbouring versions share one",
				m.Speaks.Min, m.Speaks.Max, d.g.cfg.Self.Speaks.Min, d.g.cfg.Self.Speaks.Max)
		}
	}
	d.g.tellOnce(n, err)
	return err
}

// NotifyConflict hears of two nodes under one name; or, after a restart at another address,
// of our own former life.
func (d delegate) NotifyConflict(known, other *memberlist.Node) {
	if known.Name == string(d.g.cfg.Self.ID) {
		d.g.mu.Lock()
		d.g.disputed = time.Now()
		d.g.mu.Unlock()
	}
	d.g.tellOnce(other, fmt.Errorf("another node with this name is alive at %s: give each node its own nodeId", known.Address()))
}

// tellOnce logs why a node is kept out, once until it is let in or the reason changes.
func (g *Gossip) tellOnce(n *memberlist.Node, why error) {
	who := n.Name + " at " + n.Address()
	g.mu.Lock()
	defer g.mu.Unlock()
	const enough = 1000 // names that strangers make up
	switch {
	case why == nil:
		delete(g.refused, who)
	case g.refused[who] != why.Error() && len(g.refused) < enough:
		g.refused[who] = why.Error()
		g.log.Error("node kept out of the cluster", "node", n.Name, "addr", n.Address(), "why", why)
	}
}

// NodeMeta is what we say of ourselves; Validate has bounded its length.
func (d delegate) NodeMeta(int) []byte {
	d.g.mu.Lock()
	defer d.g.mu.Unlock()
	return encode(d.g.self)
}

// memberlist carries nothing else for us.

func (delegate) NotifyMsg([]byte)                { /* nobody sends any */ }
func (delegate) GetBroadcasts(int, int) [][]byte { return nil }
func (delegate) LocalState(bool) []byte          { return nil }
func (delegate) MergeRemoteState([]byte, bool)   { /* nobody has any */ }
