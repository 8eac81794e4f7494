package chaos

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"taximeter/cmd/internal/chaos/inject"
	"taximeter/internal/sqlserver"
	"taximeter/schemas"
)

// Scenario is the plan of one run.
type Scenario struct {
	Seed       uint64
	Partitions int
	Events     int64
	Checkpoint time.Duration // interval
	Resident   int           // trips that stay in memory
	Lives      []Life
	Rules      []schemas.Rule // beside the city's
	Tables     bool           // a lake and analytical tables are kept, and checked
	Database   sqlserver.Kind // the analytical tables' server; "" = SQLite
	// Again sends all events a second time before the last life.
	Again bool
	City  float64 // events per second of event time, if more than usual
}

// Life is one process, from its start to its end.
type Life struct {
	Replay  bool // else live
	Plan    inject.Plan
	Network float64 // share of the requests to broker and S3 that are cut, unheard or slow
	End     End
	After   time.Duration // of the end, where the plan's crash does not come first
	Dark    time.Duration // for so long, from After/2 on, the broker answers nobody
	// Deaf is the share of transaction ends whose answer nobody hears.
	Deaf float64
	// Late is the share of transaction ends that the broker hears only after their sender has
	// lost its connection, given up and perhaps begun the next transaction.
	Late float64
	// Rest is how long nothing runs after the life.
	Rest time.Duration
	// Elsewhere lets it begin in a folder of its own: nothing of its state is there.
	Elsewhere bool
	// SameData lets a second owner use the first one's folder of local state.
	SameData bool
}

// End is how a life ends.
type End uint8

const (
	Killed    End = iota // kill -9 at any moment
	Crashed              // at the plan's point, or killed if it is not reached
	Stopped              // SIGTERM
	Overtaken            // SIGSTOP, a second process starts, SIGCONT: the first must give way; the second is killed
	Rebooted             // the broker goes down and comes back, then kill -9
	numEnds
)

var endNames = [numEnds]string{"killed", "crashed", "stopped", "overtaken", "rebooted"}

func (e End) String() string { return endNames[e] }

// Draw makes the scenario of a seed.
func Draw(seed uint64) Scenario {
	rng := rand.New(rand.NewPCG(seed, 0x63686173))
	s := Scenario{Seed: seed, Partitions: 2 + rng.IntN(3), Events: 2500 + rng.Int64N(1500),
		Checkpoint: time.Duration(100+rng.IntN(300)) * time.Millisecond, Resident: []int{3, 20, 100_000}[rng.IntN(3)]}
	replay := false
	for range 2 + rng.IntN(3) {
		replay = replay || rng.IntN(4) == 0 // and stays: a replay ends event time for good
		s.Lives = append(s.Lives, drawLife(rng, replay))
	}
	return s
}

func drawLife(rng *rand.Rand, replay bool) Life {
	l := Life{Replay: replay, After: time.Duration(rng.IntN(900)) * time.Millisecond, SameData: rng.IntN(2) == 0}
	switch n := rng.IntN(100); {
	case n < 55:
		l.End = Crashed
	case n < 70:
		l.End = Killed
	case n < 77:
		l.End = Rebooted
	case n < 87 || replay:
		l.End = Stopped
	default:
		l.End = Overtaken
	}
	if l.End == Crashed {
		points := inject.Points()
		l.Plan.Crash, l.Plan.Nth = points[rng.IntN(len(points))], 1+rng.IntN(6)
		l.After = 1200 * time.Millisecond
	}
	if rng.IntN(3) == 0 {
		l.Network = []float64{0.005, 0.02}[rng.IntN(2)]
	}
	if rng.IntN(4) == 0 {
		l.Plan.StoreFaults, l.Plan.Seed = []float64{0.01, 0.05}[rng.IntN(2)], rng.Uint64()
	}
	if rng.IntN(6) == 0 {
		l.Deaf = 0.3
	}
	if rng.IntN(8) == 0 {
		l.Late = 0.3
	}
	if rng.IntN(6) == 0 {
		l.Dark = time.Duration(200+rng.IntN(800)) * time.Millisecond
	}
	return l
}

func (s Scenario) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: %d events, %d partitions, checkpoint %s, %d trips in memory", s.Seed, s.Events, s.Partitions, s.Checkpoint, s.Resident)
	if s.Tables {
		b.WriteString(", with lake and tables")
	}
	for i := range s.Lives {
		fmt.Fprintf(&b, "\n  life %d: %s", i+1, &s.Lives[i])
	}
	return b.String()
}

func (l *Life) String() string {
	mode := "live"
	if l.Replay {
		mode = "replay"
	}
	text := fmt.Sprintf("%s, %s within %s", mode, l.End, l.After)
	if plan := l.Plan.String(); plan != "" {
		text += ", " + plan
	}
	if l.Network > 0 {
		text += fmt.Sprintf(", network=%g", l.Network)
	}
	if l.Deaf > 0 {
		text += fmt.Sprintf(", deaf to %g of the ends of transactions", l.Deaf)
	}
	if l.Late > 0 {
		text += fmt.Sprintf(", %g of the ends of transactions come late", l.Late)
	}
	if l.Elsewhere {
		text += ", in a folder of its own"
	}
	if l.Rest > 0 {
		text += fmt.Sprintf(", then nothing for %s", l.Rest)
	}
	if l.Dark > 0 {
		text += fmt.Sprintf(", dark for %s", l.Dark)
	}
	return text
}
