package gossip

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/hashicorp/memberlist"

	"taximeter/cluster"
)

// Config of one node's gossip.
type Config struct {
	Self cluster.Member
	// Listen is host:port for UDP and TCP, both on one port; port 0 picks one.
	Listen string
	// Advertise is host:port as the others see it; "" = as Listen, or the first private
	// address if that is a wildcard. The host must be an IP address.
	Advertise string
	// Seeds are host:port of any nodes; a name stands for all its addresses, as a headless
	// service's does. Dead ones do no harm, the node's own neither.
	Seeds []string
	// Bootstrap lets this node count as joined though it met nobody: for the first node of a
	// cluster, and for a cluster of one.
	Bootstrap bool
	// Keys encrypt and authenticate all gossip (AES-GCM; 16, 24 or 32 bytes each). All may
	// decrypt, the first encrypts. None = open to whoever reaches the port.
	Keys [][]byte
	// Label keeps clusters apart that share a network; what has another is dropped.
	Label string
	// Allowed are the networks, as CIDR, that members may have addresses in; none = all.
	Allowed []string
	Profile Profile
	// OnPause hears, from a goroutine of its own, that this process stood still for longer
	// than others need to call it dead. Whatever the node believes to own is suspect then:
	// it must look at the chain before it writes anything.
	OnPause func(late time.Duration)
}

// Profile is a set of timings.
type Profile uint8

const (
	// LAN sees a crash within 1.2 to 1.8 s.
	LAN Profile = iota
	// Local is for many nodes on few shared cores, as in tests: twice as patient.
	Local
)

// The timings, each with what the library's own preset would do instead.
func (p Profile) tune() *memberlist.Config {
	c := memberlist.DefaultLANConfig()
	// One second and a suspicion of four would call a crash after 5 to 13 s; take-over is due
	// in 5 s altogether. A probe fails if neither the node, nor three others asked to try,
	// nor TCP answers within the interval.
	c.ProbeInterval = 300 * time.Millisecond
	c.ProbeTimeout = 150 * time.Millisecond
	c.SuspicionMult = 2
	// A node that fails its own probes stretches them, up to eightfold: 2.4 s more. Threefold
	// still spares the healthy when it is this node that is slow.
	c.AwarenessMaxMultiplier = 3
	// Duty changes must be known before the moves they ask for.
	c.GossipInterval = 100 * time.Millisecond
	// 30 s without a full exchange let a missed message live for as long.
	c.PushPullInterval = 10 * time.Second
	// 10 s would let one dead address hold up a round of joins, hence the healing.
	c.TCPTimeout = 2 * time.Second
	// A node that comes back with another address is refused while this is zero.
	c.DeadNodeReclaimTime = time.Second
	// What we say is small, and compressing every packet costs more than it saves.
	c.EnableCompression = false
	if p == Local {
		c.SuspicionMult = 4
		c.TCPTimeout = time.Second
	}
	return c
}

// rejoinEvery is how often lost members and absent seeds are tried: heals in seconds and
// costs a dial or three.
const rejoinEvery = 2 * time.Second

// suspicion is how long a silent node may still refute before it is called dead.
func suspicion(c *memberlist.Config) time.Duration {
	return time.Duration(c.SuspicionMult) * c.ProbeInterval
}

// Validate reports all that is wrong with c.
func (c Config) Validate() error {
	var errs []error
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if err := c.Self.ID.Check(); err != nil {
		errs = append(errs, err)
	}
	if c.Self.Weight < 0 || c.Self.Weight > maxWeight {
		fault("weight %d: 0 to %d is due", c.Self.Weight, maxWeight)
	}
	if n := len(encode(c.Self)); n > memberlist.MetaMaxSize {
		fault("what the node says of itself takes %d bytes, %d are allowed: shorten its addresses, zone or version", n, memberlist.MetaMaxSize)
	}
	if _, _, err := splitAddr(c.Listen); err != nil {
		fault("listen: %w", err)
	}
	if c.Advertise != "" {
		if host, _, err := splitAddr(c.Advertise); err != nil {
			fault("advertise: %w", err)
		} else if net.ParseIP(host) == nil {
			fault("advertise: %q is no IP address, and other nodes must not depend on a name", host)
		}
	}
	for i, seed := range c.Seeds {
		if host, port, err := splitAddr(seed); err != nil {
			fault("seeds[%d]: %w", i, err)
		} else if host == "" || port == 0 {
			fault("seeds[%d]: %q: host:port of another node is due", i, seed)
		}
	}
	if len(c.Seeds) == 0 && !c.Bootstrap {
		fault("neither seeds nor bootstrap: give the address of any other node, or set bootstrap on the first one")
	}
	for i, key := range c.Keys {
		if err := memberlist.ValidateKey(key); err != nil {
			fault("keys[%d] has %d bytes: 16, 24 or 32 are due", i, len(key))
		}
	}
	if len(c.Label) > memberlist.LabelMaxSize {
		fault("label has %d bytes, at most %d are allowed", len(c.Label), memberlist.LabelMaxSize)
	}
	if _, err := memberlist.ParseCIDRs(c.Allowed); err != nil {
		fault("allowed: %w: networks look like 10.0.0.0/8", err)
	}
	if c.Profile > Local {
		fault("profile %d does not exist", c.Profile)
	}
	return errors.Join(errs...)
}

func splitAddr(addr string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(addr)
	if err != nil {
		return "", 0, fmt.Errorf("%q: host:port is due: %w", addr, err)
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return "", 0, fmt.Errorf("%q: the port must be a number up to 65535", addr)
	}
	return host, int(n), nil
}
