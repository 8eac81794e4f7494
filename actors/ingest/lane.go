package ingest

import (
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/schemas"
)

// credit is how many batches of a partition are out at once: one being applied, one next.
const credit = 2

// Batch is what an owner is given. Records and all they refer to are the owner's until
// Release, which gives the room back.
type Batch struct {
	schemas.Batch
	home *task
}

// Release must be called once per batch, from any goroutine.
func (b *Batch) Release() {
	clear(b.Records) // the next decode relies on zero records, and the fetch buffer is let go
	b.home.source.release(b)
}

// task is one partition number of the three input topics.
type task struct {
	source    *Source
	partition schemas.Partition
	deliver   func(*Batch)
	free      []*Batch // batches not out
	lanes     [schemas.NumInputs]*lane
	missed    time.Time // since when a lane that more is expected of has had nothing at hand; zero = none
}

func newTask(s *Source, p schemas.Partition, offsets [schemas.NumInputs]schemas.Offset, deliver func(*Batch)) *task {
	t := &task{source: s, partition: p, deliver: deliver}
	for range credit {
		t.free = append(t.free, &Batch{home: t})
	}
	for _, topic := range schemas.Inputs {
		t.lanes[topic] = &lane{topic: topic, partition: p, next: offsets[topic], fetched: offsets[topic], end: -1}
	}
	return t
}

// patience is how long a partition waits for a topic of which the broker says that there is
// more, before its other topics go on without it.
const patience = 2 * time.Second

// first is the lane whose next record was appended first; nil if no lane has any, or if
// one that has none at hand may still bring an earlier one.
//
// The order matters while catching up: a topic read hours ahead of another would make the
// other's events late.
func (t *task) first() *lane {
	var first *lane
	missing := false
	for _, l := range t.lanes {
		switch {
		case l.stopped != nil || l.held || l.waiting:
		case l.queued > 0:
			l.absent = false
			if first == nil || l.head() < first.head() {
				first = l
			}
		case l.absent:
		case l.end < 0 || l.fetched < l.end:
			missing = true
		}
	}
	if !missing {
		t.missed = time.Time{}
		return first
	}
	if t.missed.IsZero() {
		t.missed = time.Now()
	}
	if time.Since(t.missed) < patience {
		return nil
	}
	t.missed = time.Time{}
	for _, l := range t.lanes {
		l.absent = l.queued == 0
	}
	return first
}

// lane is one topic-partition: where it stands and what was fetched ahead.
//
// Invariant: next <= fetched, and queue holds the fetched records of [next, fetched).
type lane struct {
	topic     schemas.Topic
	partition schemas.Partition

	queue  [][]*kgo.Record // undecoded, in offset order, no empty slices
	queued int             // records in queue

	next    schemas.Offset // first offset not handed out
	fetched schemas.Offset // first offset not fetched
	end     schemas.Offset // last stable offset; -1 = not known
	checked time.Time      // when end was asked for, or came with a fetch

	held     bool  // by the owner
	absent   bool  // gave nothing for too long: the others do not wait for it
	waiting  bool  // for a schema
	why      error // what the last attempt to get it said
	paused   bool  // in the client
	stopped  error // out of the client until added anew
	failures int   // fetch errors in a row
}

// head is the append time of the next record, in ms, as the broker wrote it.
func (l *lane) head() int64 { return l.queue[0][0].Timestamp.UnixMilli() }

func (l *lane) push(records []*kgo.Record) {
	if len(records) == 0 {
		return
	}
	l.queue = append(l.queue, records)
	l.queued += len(records)
	l.fetched = schemas.Offset(records[len(records)-1].Offset + 1)
}

// pop drops the first queued record, which was handed out.
func (l *lane) pop() {
	first := l.queue[0]
	l.next = schemas.Offset(first[0].Offset + 1)
	first[0] = nil
	l.queued--
	if l.queue[0] = first[1:]; len(l.queue[0]) == 0 {
		l.queue[0] = nil
		l.queue = l.queue[1:]
	}
}

// LaneStatus tells where one topic-partition stands.
type LaneStatus struct {
	Next      schemas.Offset // first offset not handed to the owner
	End       schemas.Offset // last stable offset as of CheckedAt; -1 = not known yet
	CheckedAt time.Time      // when the broker was last asked and answered; zero = never
	Waiting   error          // why it waits for the schema registry
	Stopped   error          // why it stands still
}

// CaughtUp reports whether an owner that has applied all before next had read all there
// was, by an answer not older than maxAge.
func (s LaneStatus) CaughtUp(next schemas.Offset, now time.Time, maxAge time.Duration) bool {
	return s.Stopped == nil && s.End >= 0 && next >= s.End && now.Sub(s.CheckedAt) <= maxAge
}
