package ingest

import (
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"
)

// assignment is which lanes the client fetches, and from where.
//
// To take a partition out of the client ends all fetches under way, by closing their
// connections: the partitions that stay would wait until those are made anew, TLS and all. So
// a lane that is dropped is paused for good, and leaves the client only when it, or
// another that was dropped, is to be read again from elsewhere.
type assignment struct {
	client  *kgo.Client
	answers *answers
	lanes   int                // that it fetches
	dropped map[string][]int32 // paused in the client, and nobody's
}

// consume fetches the lanes, which nobody does, from where they stand.
func (a *assignment) consume(lanes ...*lane) {
	from := map[string]map[int32]kgo.Offset{}
	for _, l := range lanes {
		l.stopped, l.paused, l.by = nil, false, a
		a.lanes++
		a.answers.forget(l)
		if a.hasDropped(l) {
			a.forget()
		}
		if from[l.topic.String()] == nil {
			from[l.topic.String()] = map[int32]kgo.Offset{}
		}
		from[l.topic.String()][int32(l.partition)] = kgo.NewOffset().At(int64(l.fetched))
	}
	a.client.AddConsumePartitions(from)
}

// drop ends fetching a lane, by whom it may be. No poll of that may be under way: nothing of the lane
// comes of those that follow.
func (l *lane) drop() {
	a := l.by
	if a == nil {
		return
	}
	l.by = nil
	a.lanes--
	a.client.PauseFetchPartitions(l.partitions())
	if a.dropped == nil {
		a.dropped = map[string][]int32{}
	}
	if !a.hasDropped(l) {
		a.dropped[l.topic.String()] = append(a.dropped[l.topic.String()], int32(l.partition))
	}
}

func (a *assignment) hasDropped(l *lane) bool {
	return slices.Contains(a.dropped[l.topic.String()], int32(l.partition))
}

// forget takes all that was dropped out of the client, with what it has fetched of them.
func (a *assignment) forget() {
	a.client.RemoveConsumePartitions(maps.Clone(a.dropped)) // before they are resumed
	a.client.ResumeFetchPartitions(a.dropped)
	clear(a.dropped)
}

// pause holds fetching back until resume. Somebody must fetch the lane.
func (l *lane) pause() {
	l.by.client.PauseFetchPartitions(l.partitions())
	l.paused = true
}

func (l *lane) resume() {
	l.by.client.ResumeFetchPartitions(l.partitions())
	l.paused = false
	l.by.answers.forget(l)
}

func (l *lane) partitions() map[string][]int32 {
	return map[string][]int32{l.topic.String(): {int32(l.partition)}}
}
