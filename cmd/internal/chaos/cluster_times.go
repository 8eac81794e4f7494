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
	Move     []time.Duration // a planned move: from the end of the old owner's input until the new owner's begins
	Applied  []time.Duration // the same until the new owner has applied its first records
	// Parts are what a planned move consists of, by the words of the nodes' log lines.
	Parts   map[string][]time.Duration
	Unmoved int             // planned moves that failed: they have no sample
	Join    []time.Duration // from a process's start until the cluster is balanced
	Rejoin  []time.Duration // from healing until the node is a member that runs what is its
	Wait    []time.Duration // of partitions that stay where they are: for how long records could be read and were not, at most
	Still   []time.Duration // the same of all partitions while nothing happens
	Alert   []time.Duration // from an event's being sent until the alert that it decides can be read
}

// Add takes in the samples of another run.
func (t *Times) Add(o Times) {
	t.TakeOver = append(t.TakeOver, o.TakeOver...)
	t.Resign = append(t.Resign, o.Resign...)
	t.Move = append(t.Move, o.Move...)
	t.Applied = append(t.Applied, o.Applied...)
	if t.Parts == nil {
		t.Parts = make(map[string][]time.Duration)
	}
	for part, took := range o.Parts {
		t.Parts[part] = append(t.Parts[part], took...)
	}
	t.Unmoved += o.Unmoved
	t.Join = append(t.Join, o.Join...)
	t.Rejoin = append(t.Rejoin, o.Rejoin...)
	t.Wait = append(t.Wait, o.Wait...)
	t.Still = append(t.Still, o.Still...)
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

// moves is what both ends of planned moves say.
type moves struct {
	runs    spans
	applied spans
	parts   map[string][]time.Duration
	failed  int // that the old owner could not bring to an end
}

func newMoves() moves {
	return moves{newSpans(), newSpans(), make(map[string][]time.Duration), 0}
}

// spans pairs beginnings and ends by partition, whichever is heard of first: the new owner may
// be done before the old one is.
type spans struct {
	from, to map[string]time.Time
	took     []time.Duration
}

func newSpans() spans {
	return spans{from: make(map[string]time.Time), to: make(map[string]time.Time)}
}

func (s *spans) begins(partition string, at time.Time) {
	if end := s.to[partition]; end.After(at) {
		s.took = append(s.took, end.Sub(at))
	} else {
		s.from[partition] = at
	}
}

func (s *spans) ends(partition string, at time.Time) (known bool) {
	s.to[partition] = at
	from, known := s.from[partition]
	if known {
		s.took = append(s.took, at.Sub(from))
		delete(s.from, partition)
	}
	return known
}

var (
	handedOver = regexp.MustCompile(`msg="partition handed over" partition=(\d+) `)
	notHanded  = regexp.MustCompile(`msg="partition could not be handed over[;"]`)
	runs       = regexp.MustCompile(`msg="partition runs" partition=(\d+) `)
	applied    = regexp.MustCompile(`msg="partition has read on" partition=(\d+) `)
	durations  = regexp.MustCompile(` (\w+)=([0-9.]+(?:ns|µs|ms|s|m)[0-9.ms]*)`)
)

// hear takes a line of a node. Lines come as they are written, a few ms late at most.
func (f *fleet) hear(_, line string) {
	now := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	if m := handedOver.FindStringSubmatch(line); m != nil {
		from := now.Add(-f.moves.part("handed over", line))
		f.moves.runs.begins(m[1], from)
		f.moves.applied.begins(m[1], from)
	} else if notHanded.MatchString(line) {
		f.moves.failed++
	} else if m := runs.FindStringSubmatch(line); m != nil {
		f.moves.part("runs", line)
		if !f.moves.runs.ends(m[1], now) { // of a run before that has not read on nobody waits any more
			delete(f.moves.applied.from, m[1])
		}
	} else if m := applied.FindStringSubmatch(line); m != nil {
		f.moves.part("has read on", line)
		f.moves.applied.ends(m[1], now)
	}
}

// part notes the durations that a line tells, and gives the one of all that it tells of.
func (m *moves) part(of, line string) (took time.Duration) {
	for _, word := range durations.FindAllStringSubmatch(line, -1) {
		d, err := time.ParseDuration(word[2])
		if err != nil {
			continue
		}
		if word[1] == "took" {
			took = d
		}
		name := of + ", " + word[1]
		m.parts[name] = append(m.parts[name], d)
	}
	return took
}
