package ingest

import (
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/schemas"
)

// credit is how many batches of a partition are out at once: one being applied, one next.
const credit = 2

// Batch is what an owner is given: records that were fetched, decoded as it comes to them (Pieces).
// All they refer to is the owner's until Release: then the bytes are lent to the next fetch, and a
// string that was kept uncopied changes.
type Batch struct {
	Next    [schemas.NumInputs]schemas.Offset // as schemas.Batch has it
	home    *task
	entries []entry
	records int // of entries, without control records
}

// entry is a record that was fetched.
type entry struct {
	*kgo.Record
	topic   schemas.Topic
	refused *refusal // of its schema; nil = it is known
}

// Release must be called once per batch, from any goroutine.
func (b *Batch) Release() {
	for _, e := range b.entries {
		e.Recycle()
	}
	clear(b.entries)
	b.entries, b.records = b.entries[:0], 0
	b.home.source.release(b)
}

// task is one partition number of the three input topics.
type task struct {
	source    *Source
	partition schemas.Partition
	deliver   func(*Batch)
	added     time.Time
	free      []*Batch      // batches not out
	piece     schemas.Batch // the owner's; see Pieces
	lanes     [schemas.NumInputs]*lane
}

func newTask(s *Source, p schemas.Partition, offsets [schemas.NumInputs]schemas.Offset, deliver func(*Batch)) *task {
	t := &task{source: s, partition: p, deliver: deliver, added: time.Now()}
	for range credit {
		t.free = append(t.free, &Batch{home: t})
	}
	for _, topic := range schemas.Inputs {
		t.lanes[topic] = &lane{topic: topic, partition: p, namespace: s.o.Namespace, next: offsets[topic], fetched: offsets[topic], end: -1, schema: -1}
	}
	return t
}

// lane is one topic-partition: where it stands and what was fetched ahead.
//
// Invariant: next <= fetched, and queue holds the fetched records of [next, fetched).
type lane struct {
	topic     schemas.Topic
	partition schemas.Partition
	namespace string // whose bills have no place in the order

	queue  [][]*kgo.Record // undecoded, in offset order, no empty slices
	queued int             // records in queue
	head   int64           // place of the first queued record in the order of the partition

	next    schemas.Offset // first offset not handed out
	fetched schemas.Offset // first offset not fetched
	end     schemas.Offset // last stable offset; -1 = not known
	checked time.Time      // when the broker was asked for end; zero = never
	steady  bool           // records have come since it was added or resumed

	missing  time.Time   // since when the others wait, or waited in vain, for it; zero = they do not
	schema   int         // id of the last value, which is known; -1 = none
	held     bool        // by the owner
	waiting  bool        // for a schema
	why      error       // what the last attempt to get it said
	by       *assignment // fetches it; nil = nobody does
	paused   bool        // in the client
	stopped  error       // out of the client
	retried  bool        // when stopped: back soon, not only when added anew
	failures int         // fetch errors in a row
}

func (l *lane) push(records []*kgo.Record) {
	if len(records) == 0 {
		return
	}
	l.queue = append(l.queue, records)
	l.queued += len(records)
	l.fetched = schemas.Offset(records[len(records)-1].Offset + 1)
	l.look()
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
	l.look()
}

// LaneStatus tells where one topic-partition stands.
type LaneStatus struct {
	Next      schemas.Offset // first offset not handed to the owner
	Fetched   schemas.Offset // first offset not fetched
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
