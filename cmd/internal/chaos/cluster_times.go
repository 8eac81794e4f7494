package chaos

import (
	"regexp"
	"slices"
	"time"
)

// Times are the pauses that a cluster had.
type Times struct {
	TakeOver []time.Duration // from a node's silence until its last partition flows elsewhere
	Resign   []time.Duration // the same of a node that lost only Kafka or only the store
	Move     []time.Duration // a planned move: from the old owner's last batch until the new one reads
	Unmoved  int             // planned moves that failed: they have no sample
	Join     []time.Duration // from a process's start until the cluster is balanced
	Rejoin   []time.Duration // from healing until the node is a member that runs what is its
	Pause    []time.Duration // of partitions that stay where they are: between two looks at which they had read on
	Alert    []time.Duration // from an event's being sent until the alert that it decides can be read
}

// Add takes in the samples of another run.
func (t *Times) Add(o Times) {
	t.TakeOver = append(t.TakeOver, o.TakeOver...)
	t.Resign = append(t.Resign, o.Resign...)
	t.Move = append(t.Move, o.Move...)
	t.Unmoved += o.Unmoved
	t.Join = append(t.Join, o.Join...)
	t.Rejoin = append(t.Rejoin, o.Rejoin...)
	t.Pause = append(t.Pause, o.Pause...)
	t.Alert = append(t.Alert, o.Alert...)
}

// Percentile is the least of the samples that so many percent do not exceed; 0 without any.
func Percentile(samples []time.Duration, percent int) time.Duration {
	if len(samples) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(samples))
	return sorted[(len(sorted)*percent+99)/100-1]
}

// moves pairs what both ends of a planned move say: the new owner may be done before the
// old one is.
type moves struct {
	from map[string]time.Time // partition -> when its old owner stopped it
	runs map[string]time.Time // partition -> when it last began to run
	took []time.Duration
	// failed are those that the old owner could not bring to an end.
	failed int
}

var (
	handedOver = regexp.MustCompile(`msg="partition handed over" partition=(\d+) to=(\S+) took=(\S+)`)
	notHanded  = regexp.MustCompile(`msg="partition could not be handed over[;"]`)
	runs       = regexp.MustCompile(`msg="partition runs" partition=(\d+) `)
)

// hear takes a line of a node. Lines come as they are written, a few ms late at most.
func (f *fleet) hear(_, line string) {
	now := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	if m := handedOver.FindStringSubmatch(line); m != nil {
		took, err := time.ParseDuration(m[3])
		if err != nil {
			return
		}
		if from := now.Add(-took); f.moves.runs[m[1]].After(from) {
			f.moves.took = append(f.moves.took, f.moves.runs[m[1]].Sub(from))
		} else {
			f.moves.from[m[1]] = from
		}
	} else if notHanded.MatchString(line) {
		f.moves.failed++
	} else if m := runs.FindStringSubmatch(line); m != nil {
		f.moves.runs[m[1]] = now
		if at, ok := f.moves.from[m[1]]; ok {
			f.moves.took = append(f.moves.took, now.Sub(at))
			delete(f.moves.from, m[1])
		}
	}
}
