package ingest

import (
	"context"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// fetcher is a client and the poll of it that may be under way.
//
// Two of them share the work. The usual one fetches for all: its fetches wait for more records,
// since each answer costs a message per partition. A partition that is added would stand still for
// two of them, the one under way and its own first; so the quick one, whose fetches do not wait,
// brings what there is, and then leaves the partition to the usual one.
type fetcher struct {
	assignment
	polled chan kgo.Fetches
	stop   context.CancelFunc // of the poll under way; nil = none
}

func newFetcher(client *kgo.Client, a *answers) *fetcher {
	return &fetcher{assignment: assignment{client: client, answers: a}, polled: make(chan kgo.Fetches, 1)}
}

// poll begins one, if none is under way and there is anything to fetch.
func (s *Source) poll(f *fetcher) {
	if f.stop != nil || f.lanes == 0 {
		return
	}
	ctx, cancel := context.WithCancel(s.ctx)
	f.stop = cancel
	s.background(func() { f.polled <- f.client.PollRecords(ctx, pollRecords) })
}

// ended hears that the poll under way has ended.
func (f *fetcher) ended() {
	f.stop()
	f.stop = nil
}

// quiesce ends the poll under way, so that what it brought is not mistaken for what
// comes after a change.
func (s *Source) quiesce(f *fetcher) {
	if f.stop != nil {
		f.stop()
		s.took(f, <-f.polled)
	}
}

// settle leaves to the usual fetcher, from where they stand, the partitions of which the quick one has
// brought what there was. What the usual one has had before ends the fetches of all others there (see assignment),
// so it waits until those have only just begun: begun says so.
func (s *Source) settle(begun bool) {
	var arrived []*task
	for _, t := range s.tasks {
		lanes := s.quick.of(t)
		if len(lanes) > 0 && t.arrived(lanes, time.Now()) && (begun || !slices.ContainsFunc(lanes, s.usual.hasDropped)) {
			arrived = append(arrived, t)
		}
	}
	if len(arrived) == 0 {
		return
	}
	s.quiesce(s.quick) // may settle some
	for _, t := range arrived {
		lanes := s.quick.of(t)
		for _, l := range lanes {
			l.drop()
		}
		s.usual.consume(lanes...) // at once: what is added to a client while it learns of other topics waits for a second
	}
}

// of is the lanes of a task that it fetches.
func (f *fetcher) of(t *task) (lanes []*lane) {
	if f.lanes == 0 {
		return nil
	}
	for _, l := range t.lanes {
		if l.by == &f.assignment {
			lanes = append(lanes, l)
		}
	}
	return lanes
}

// quickPatience is with records that are there and not given, as those before an open transaction.
const quickPatience = time.Second

// arrived reports whether all of the lanes have brought something, or are silent.
func (t *task) arrived(lanes []*lane, now time.Time) bool {
	return now.Sub(t.added) > quickPatience || !slices.ContainsFunc(lanes, func(l *lane) bool {
		return !l.steady && (l.end < 0 || l.fetched < l.end)
	})
}
