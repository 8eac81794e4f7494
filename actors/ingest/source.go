package ingest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/schemas"
)

// ErrClosed is what a closed Source answers.
var ErrClosed = errors.New("ingest is closed")

// Source reads the partitions it is told to. Its methods may be called from any
// goroutine but the one that calls Options.OnFault and the deliver functions.
type Source struct {
	o     Options
	admin *kadm.Client

	ctx     context.Context // ends with Close
	cancel  context.CancelFunc
	running sync.WaitGroup

	commands chan func() // to run on the loop
	released chan *Batch
	added    chan struct{} // a partition whose log ends are not known yet
	heard    atomic.Pointer[time.Time]

	// All below is the loop's.
	tasks   map[schemas.Partition]*task
	usual   *fetcher
	quick   *fetcher // of what was just added
	asking  map[schemaKey][]*lane
	refused map[schemaKey]*refusal
	held    bool                        // nothing is delivered
	ids     [schemas.NumInputs][16]byte // of the topics as CheckTopics found them; zero = not looked
}

// releasedRoom lets owners release without waiting for the loop.
const releasedRoom = 1024

// New starts a Source that reads nothing yet.
func New(o Options) (*Source, error) {
	o = o.withDefaults()
	answers := newAnswers()
	usual, quick, err := o.clients(answers)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &Source{
		o: o, admin: kadm.NewClient(usual), ctx: ctx, cancel: cancel,
		commands: make(chan func()), released: make(chan *Batch, releasedRoom), added: make(chan struct{}, 1),
		tasks: map[schemas.Partition]*task{}, usual: newFetcher(usual, answers), quick: newFetcher(quick, answers), asking: map[schemaKey][]*lane{}, refused: map[schemaKey]*refusal{},
	}
	now := time.Now()
	s.heard.Store(&now)
	s.background(s.run)
	s.background(s.probe)
	return s, nil
}

// Close stops reading. Batches still out may be released or not.
func (s *Source) Close() {
	s.cancel()
	s.running.Wait()
	s.usual.client.Close()
	s.quick.client.Close()
}

// Add starts reading a partition, which must not be read yet, at these offsets, each of
// them in its log or its end. deliver is given the batches; it must not block.
func (s *Source) Add(p schemas.Partition, offsets [schemas.NumInputs]schemas.Offset, deliver func(*Batch)) error {
	var err error
	closed := s.call(func() { err = s.add(p, offsets, deliver) })
	return errors.Join(closed, err)
}

func (s *Source) add(p schemas.Partition, offsets [schemas.NumInputs]schemas.Offset, deliver func(*Batch)) error {
	if s.tasks[p] != nil {
		return fmt.Errorf("partition %d is read already", p)
	}
	s.tasks[p] = newTask(s, p, offsets, deliver)
	s.quick.consume(s.tasks[p].lanes[:]...)
	select {
	case s.added <- struct{}{}:
	default: // asked for already
	}
	return nil
}

// Remove stops reading a partition: nothing of it is delivered after it returns.
func (s *Source) Remove(p schemas.Partition) error {
	return s.call(func() { s.remove(p) })
}

func (s *Source) remove(p schemas.Partition) {
	t := s.tasks[p]
	if t == nil {
		return
	}
	s.quiesce(s.usual)
	s.quiesce(s.quick)
	delete(s.tasks, p)
	for _, l := range t.lanes {
		l.drop()
	}
}

// PauseTopic holds back one topic of a partition, until ResumeTopic: nothing of it is
// delivered after it returns.
func (s *Source) PauseTopic(p schemas.Partition, topic schemas.Topic) error {
	return s.hold(p, topic, true)
}

// ResumeTopic ends PauseTopic.
func (s *Source) ResumeTopic(p schemas.Partition, topic schemas.Topic) error {
	return s.hold(p, topic, false)
}

// Hold delivers nothing of any partition until Resume; what is read ahead is bounded as ever.
func (s *Source) Hold() { s.setHeld(true) }

// Resume ends Hold.
func (s *Source) Resume() { s.setHeld(false) }

func (s *Source) setHeld(held bool) {
	_ = s.call(func() { // a closed source delivers nothing either way
		s.held = held
		for _, t := range s.tasks {
			for _, l := range t.lanes {
				l.missing = time.Time{} // nothing was fetched meanwhile
			}
		}
		s.serveAll()
	})
}

func (s *Source) hold(p schemas.Partition, topic schemas.Topic, held bool) error {
	return s.call(func() {
		if t := s.tasks[p]; t != nil {
			t.lanes[topic].held = held
			s.serve(t)
		}
	})
}

// Status tells where the topics of a partition stand; ok is false if it is not read.
func (s *Source) Status(p schemas.Partition) (status [schemas.NumInputs]LaneStatus, ok bool, err error) {
	err = s.call(func() {
		var t *task
		if t, ok = s.tasks[p]; !ok {
			return
		}
		for i, l := range t.lanes {
			status[i] = LaneStatus{Next: l.next, Fetched: l.fetched, End: l.end, CheckedAt: l.checked, Waiting: l.why, Stopped: l.stopped}
		}
	})
	return status, ok, err
}

// Answered is when a broker last said where the input topics end, asked every ProbeEvery; at
// first, when the Source was made.
func (s *Source) Answered() time.Time { return *s.heard.Load() }

// run owns tasks and lanes. Of a client at most one poll is under way, and only while some owner has
// room and nothing to do: when all are busy, the client holds what it fetched ahead.
func (s *Source) run() {
	tick := time.NewTicker(patience / 4) // patience may run out while nothing else happens
	defer tick.Stop()
	for {
		if s.hungry() {
			s.poll(s.usual)
			s.poll(s.quick)
		}
		select {
		case <-s.ctx.Done():
			return
		case command := <-s.commands:
			command()
		case b := <-s.released:
			b.home.free = append(b.home.free, b)
			if s.tasks[b.home.partition] == b.home {
				s.serve(b.home)
			}
		case fetches := <-s.usual.polled:
			s.took(s.usual, fetches)
		case fetches := <-s.quick.polled:
			s.took(s.quick, fetches)
		case <-tick.C:
			s.settle(true) // where nothing comes nobody waits
			s.serveAll()
		}
	}
}

func (s *Source) hungry() bool {
	if s.held {
		return false
	}
	for _, t := range s.tasks {
		if len(t.free) > 0 {
			return true // serve left nothing to deliver
		}
	}
	return false
}

// took sorts a poll into the lanes and serves the owners.
func (s *Source) took(f *fetcher, fetches kgo.Fetches) {
	f.ended()
	now := time.Now()
	fetches.EachPartition(func(p kgo.FetchTopicPartition) { s.sort(f, p, now) })
	s.settle(f == s.usual)
	s.serveAll()
}

// sort takes what a poll brought of one topic-partition.
func (s *Source) sort(by *fetcher, f kgo.FetchTopicPartition, now time.Time) {
	topic, ok := schemas.InputTopic(f.Topic)
	t := s.tasks[schemas.Partition(f.Partition)]
	if !ok {
		if f.Err != nil && !errors.Is(f.Err, context.Canceled) && !errors.Is(f.Err, kgo.ErrClientClosed) {
			s.o.OnFault(&FetchError{Err: f.Err})
		}
		return
	}
	if t == nil || t.lanes[topic].by != &by.assignment {
		return
	}
	l := t.lanes[topic]
	if wait, known := by.answers.waited(l, f.Records, now); known {
		s.o.OnWait(wait)
	}
	l.push(f.Records)
	if f.Err != nil {
		s.failed(l, f.Err)
		return
	}
	l.failures = 0
	// No news of when: it may have lain in the client while all owners were busy.
	l.end = max(l.end, schemas.Offset(f.LastStableOffset))
}

func (s *Source) serveAll() {
	for _, t := range s.tasks {
		s.serve(t)
	}
}

// serve delivers what the owner has room for and turns fetching on or off.
func (s *Source) serve(t *task) {
	for len(t.free) > 0 && !s.held {
		last := len(t.free) - 1
		b := t.free[last]
		if !s.fill(b, t, time.Now()) {
			break
		}
		t.free = t.free[:last]
		t.deliver(b)
	}
	share := s.o.ReadAhead / (len(s.tasks) * len(t.lanes))
	share = min(max(share, s.o.BatchRecords/2), maxLaneRecords)
	for _, l := range t.lanes {
		switch {
		case l.by == nil: // not fetched
		case !l.paused && l.queued >= share:
			l.pause()
		case l.paused && l.queued <= share/4: // seldom: a pause throws away what is being fetched
			l.resume()
		}
	}
}

// failed takes a lane out at once (the client would answer the same error thousands of times
// a second), and puts it back later where that can help.
func (s *Source) failed(l *lane, err error) {
	l.drop()
	l.failures++
	fault := &FetchError{Topic: l.topic.String(), Partition: l.partition, Stopped: standsStill(err), Err: err}
	l.stopped, l.retried = fault, !fault.Stopped
	switch {
	case errors.Is(err, kerr.OffsetOutOfRange):
		s.background(func() { s.outOfRange(l) })
		return
	case errors.Is(err, kerr.UnknownTopicID):
		s.background(func() { s.unknownID(l) })
		return
	case !fault.Stopped:
		s.retry(l)
	}
	s.o.OnFault(l.stopped)
}

// retry fetches the lane again after a pause.
func (s *Source) retry(l *lane) {
	backoff := min(firstBackoff<<min(l.failures, 10), lastBackoff)
	s.background(func() {
		if s.pause(backoff) {
			s.do(func() {
				if s.owns(l) {
					s.usual.consume(l)
				}
			})
		}
	})
}

// owns reports whether the lane was not removed meanwhile.
func (s *Source) owns(l *lane) bool {
	t := s.tasks[l.partition]
	return t != nil && t.lanes[l.topic] == l
}

// release takes a batch back.
func (s *Source) release(b *Batch) {
	select {
	case s.released <- b:
	case <-s.ctx.Done():
	}
}

// call runs f on the loop and waits for it.
func (s *Source) call(f func()) error {
	done := make(chan struct{})
	if !s.do(func() { f(); close(done) }) {
		return ErrClosed
	}
	<-done
	return nil
}

// do runs f on the loop some time later; false if closed.
func (s *Source) do(f func()) bool {
	select {
	case s.commands <- f:
		return true
	case <-s.ctx.Done():
		return false
	}
}

// background runs f until Close waits for it.
func (s *Source) background(f func()) {
	s.running.Add(1)
	go func() {
		defer s.running.Done()
		f()
	}()
}

// pause waits; false if closed.
func (s *Source) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-s.ctx.Done():
		return false
	}
}
