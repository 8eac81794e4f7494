package chaos

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"taximeter/cmd/internal/chaos/inject"
)

// Kind is one thing that happens to a cluster.
type Kind string

const (
	Join     Kind = "join"          // one node more, which later leaves
	Leave    Kind = "leave"         // SIGTERM, and back later
	Kill     Kind = "kill"          // kill -9, and back later
	Freeze   Kind = "freeze"        // SIGSTOP until taken over, then SIGCONT: a zombie wakes up
	Zombie   Kind = "zombie"        // frozen in the middle of a write, taken over, and woken
	CutOff   Kind = "cut-off"       // from the others, Kafka and the store; without namespaces frozen
	Split    Kind = "split"         // the first half, the smaller one, and the rest do not see each other; all reach Kafka and the store
	CutKafka Kind = "cut-kafka"     // from Kafka only
	CutStore Kind = "cut-store"     // from the store only
	Flap     Kind = "flap"          // cut off and back, several times
	Rolling  Kind = "rolling"       // every node stopped and started, one after another
	Reboot   Kind = "reboot"        // kill -9 of all, and all back at once
	SeedDead Kind = "seed-dead"     // kill -9 of all, and the first one back last
	Grow     Kind = "grow"          // one node more, which stays
	Outage   Kind = "cut-kafka-all" // from Kafka only, all of them
	Upgrade  Kind = "upgrade"       // every node stopped and started with the next protocol; begins with the one before
)

// Kinds are those to draw from.
func Kinds() []Kind {
	return []Kind{Join, Leave, Kill, Freeze, Zombie, CutOff, Split, CutKafka, CutStore, Flap, Rolling, Reboot, SeedDead}
}

// Act is a thing that happens to one node, or to all.
type Act struct {
	Kind Kind
	Node int           // from 0
	For  time.Duration // until it is undone
	Plan inject.Plan   // of a zombie
}

// deadly are the points at which to be frozen is worst: something durable is under way.
var deadly = []inject.Point{inject.Commit, inject.Offer, inject.Publish, inject.Fenced, inject.Sent, inject.SentAfter, inject.EndTxn, inject.ReadBack}

func (a Act) String() string {
	switch a.Kind {
	case Rolling, Reboot, SeedDead, Join, Grow, Upgrade:
		return string(a.Kind)
	case Split, Outage:
		return fmt.Sprintf("%s for %s", a.Kind, a.For)
	}
	if a.Kind == Zombie {
		return fmt.Sprintf("zombie of node-%d, %s", a.Node+1, a.Plan)
	}
	return fmt.Sprintf("%s of node-%d for %s", a.Kind, a.Node+1, a.For)
}

// ClusterScenario is the plan of one run of a cluster.
type ClusterScenario struct {
	Seed       uint64
	Nodes      int
	Partitions int
	Rate       int     // events per second while things happen
	Lapse      float64 // how much faster than its own the city's time goes at most; 0 = usualLapse
	Checkpoint time.Duration
	Acts       []Act
	Standbys   int      // copies of each partition
	State      int64    // bytes that the partitions of one node have, beside what the events make
	Weights    []int    // of the nodes; empty = all alike
	Zones      []string // of the nodes; empty = none
	Still      bool     // nothing happens after the acts for as long, to compare with
	Tables     bool     // a lake and analytical tables are kept in PostgreSQL, and checked
}

func (s ClusterScenario) has(kind Kind) bool {
	return slices.ContainsFunc(s.Acts, func(a Act) bool { return a.Kind == kind })
}

// mostEvents is what fits into memory: a kilobyte each, while they are made.
const mostEvents = 6_000_000

// slowestCopy is how many bytes of state a second a node fetches at the least, when all do so at once.
const slowestCopy = 8 << 20

// events are so many that some come while each act is under way.
func (s ClusterScenario) events() int64 {
	seconds := 10 // until the cluster is whole
	for _, a := range s.Acts {
		seconds += int(a.For.Seconds())
		switch a.Kind {
		case CutKafka, CutStore, Freeze, Zombie, CutOff, Split, Flap, Upgrade, Outage:
			seconds += 25
		case Join:
			seconds += 6 // as a rule; of a hundred
		default:
			seconds += 15
		}
		seconds += int(s.State / slowestCopy) // until all standbys are warm again
	}
	if s.Still {
		seconds += int(longestStill.Seconds())
	}
	return min(int64(s.Rate)*int64(max(seconds, 15)), mostEvents)
}

// actsPerRun keeps a run within half a minute or so.
const actsPerRun = 2

// DrawCluster makes the scenario of a seed. kinds are those to draw from.
func DrawCluster(seed uint64, nodes int, kinds []Kind) ClusterScenario {
	rng := rand.New(rand.NewPCG(seed, 0x636c7573))
	s := ClusterScenario{Seed: seed, Nodes: nodes, Partitions: 12, Rate: 1000, Standbys: 1, Checkpoint: time.Duration(300+rng.IntN(700)) * time.Millisecond}
	for len(s.Acts) < actsPerRun {
		s.Acts = append(s.Acts, draw(rng, kinds[rng.IntN(len(kinds))], nodes))
	}
	return s
}

// ClusterOf makes a scenario of given acts, written "kill:20,freeze@60s,join:5".
func ClusterOf(seed uint64, nodes int, acts string) (ClusterScenario, error) {
	s := DrawCluster(seed, nodes, Kinds())
	s.Acts = nil
	rng := rand.New(rand.NewPCG(seed, 0x61637473))
	for word := range strings.SplitSeq(acts, ",") {
		name, times, many := strings.Cut(word, ":")
		name, lasting, long := strings.Cut(name, "@")
		var lasts time.Duration
		if long {
			var err error
			if lasts, err = time.ParseDuration(lasting); err != nil {
				return s, fmt.Errorf("act %q: how long?", word)
			}
		}
		n := 1
		if many {
			var err error
			if n, err = strconv.Atoi(times); err != nil {
				return s, fmt.Errorf("act %q: how often?", word)
			}
		}
		if all := append(Kinds(), Grow, Upgrade, Outage); !slices.Contains(all, Kind(name)) {
			return s, fmt.Errorf("act %q is none of %v", name, all)
		}
		for range n {
			a := draw(rng, Kind(name), nodes)
			if long {
				a.For = lasts
			}
			s.Acts = append(s.Acts, a)
		}
	}
	return s, nil
}

func draw(rng *rand.Rand, kind Kind, nodes int) Act {
	a := Act{Kind: kind, Node: rng.IntN(nodes)}
	ms := func(from, to int) time.Duration { return time.Duration(from+rng.IntN(to-from)) * time.Millisecond }
	switch kind {
	case Leave, Kill:
		a.For = ms(0, 3000)
	case Freeze, CutOff, Split:
		a.For = ms(5000, 9000)
	case Zombie:
		a.Plan = inject.Plan{Crash: deadly[rng.IntN(len(deadly))], Nth: 2 + rng.IntN(8), Freeze: true}
	case CutKafka, CutStore, Outage:
		a.For = ms(13000, 15000) // a node resigns after ten seconds
	case Flap:
		a.For = ms(600, 2500)
	}
	return a
}

func (s ClusterScenario) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: %d nodes, %d partitions, checkpoint %s, %d events/s", s.Seed, s.Nodes, s.Partitions, s.Checkpoint, s.Rate)
	if s.Tables {
		b.WriteString(", with lake and tables")
	}
	b.WriteByte(':')
	for i, a := range s.Acts {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(" " + a.String())
	}
	return b.String()
}
