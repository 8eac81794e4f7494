package gossip

import (
	"context"
	"net"
	"slices"
	"sync"
	"time"
)

// forgetAfter ends the search for a lost member: by then it has long been taken over.
const forgetAfter = 24 * time.Hour

// joinsAtOnce bounds a round. One success is enough: both sides exchange all they know.
const joinsAtOnce = 3

// disputeFor is how long after word of ourselves at another address we tell those whom we do
// reach where we are: they take it in only once they call our former life dead, and would
// else hear of it with the next full exchange. Each answer in dispute begins it anew.
const disputeFor = 3 * rejoinEvery

// rejoin joins what is known and not reached, at the start and for ever after. memberlist
// drops a dead member for good after a while: two halves of a split network would stay two
// after it healed.
func (g *Gossip) rejoin() {
	tick := time.NewTicker(rejoinEvery)
	defer tick.Stop()
	for round := 0; ; round++ {
		targets := g.targets()
		var joins sync.WaitGroup
		for i := range min(joinsAtOnce, len(targets)) {
			addr := targets[(round*joinsAtOnce+i)%len(targets)]
			joins.Go(func() {
				if _, err := g.list.Join([]string{addr}); err != nil {
					g.log.Debug("join failed", "addr", addr, "err", err)
				} else {
					g.log.Info("joined", "addr", addr)
				}
			})
		}
		joins.Wait()
		g.mu.Lock()
		again := g.again > 0
		g.again = max(0, g.again-1)
		g.mu.Unlock()
		if again {
			g.announce()
		}
		select {
		case <-tick.C:
		case <-g.ctx.Done():
			return
		}
	}
}

// targets are the addresses to try: the seeds' and those of lost members, less who is
// reached.
func (g *Gossip) targets() []string {
	var addrs []string
	for _, seed := range g.cfg.Seeds {
		addrs = append(addrs, g.resolve(seed)...)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for id, p := range g.lost {
		if time.Since(p.at) > forgetAfter {
			delete(g.lost, id)
			g.publish()
			continue
		}
		addrs = append(addrs, p.addr)
	}
	reached := map[string]bool{g.own: true}
	for id, p := range g.alive {
		if time.Since(g.disputed) > disputeFor || id == g.self.ID {
			reached[p.addr] = true
		} else {
			addrs = append(addrs, p.addr)
		}
	}
	slices.Sort(addrs)
	return slices.DeleteFunc(slices.Compact(addrs), func(a string) bool { return reached[a] })
}

// resolve asks the system's resolver each time: nodes behind a name come and go.
func (g *Gossip) resolve(seed string) []string {
	host, port, err := net.SplitHostPort(seed)
	if err != nil {
		return nil // Validate has refused such a seed
	}
	if net.ParseIP(host) != nil {
		return []string{seed}
	}
	ctx, cancel := context.WithTimeout(g.ctx, rejoinEvery)
	defer cancel()
	ips, err := g.lookup(ctx, host)
	if err != nil {
		g.log.Warn("seed has no address", "seed", seed, "err", err)
	}
	addrs := make([]string, len(ips))
	for i, ip := range ips {
		addrs[i] = net.JoinHostPort(ip, port)
	}
	return addrs
}
