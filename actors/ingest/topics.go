package ingest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"taximeter/schemas"
)

// inputNames are the input topics in Topic order.
var inputNames = []string{schemas.TopicTelemetry, schemas.TopicRides, schemas.TopicPayments}

// Topology is what must stay the same for offsets to keep their meaning.
type Topology struct {
	Partitions int32 // of each input topic
	IDs        [schemas.NumInputs][16]byte
}

// Changed tells in which way the topics are no longer what they were; nil = in none.
func (was Topology) Changed(now Topology) error {
	var faults []error
	if now.Partitions != was.Partitions {
		faults = append(faults, fmt.Errorf("the input topics have %d partitions now and had %d: trips would change partition; "+
			"give the topics their old partition count, or begin a new namespace", now.Partitions, was.Partitions))
	}
	for _, topic := range schemas.Inputs {
		if now.IDs[topic] != was.IDs[topic] {
			faults = append(faults, fmt.Errorf("topic %s was deleted and created again: its offsets mean other records now; begin a new namespace", topic))
		}
	}
	return errors.Join(faults...)
}

// Watch checks the topics every so often until Close, and tells, each time anew, what is
// wrong with them or has Changed since they were as known. tell runs beside the Source's
// goroutine and may call the Source, but not Close.
func (s *Source) Watch(every time.Duration, known Topology, tell func(error)) error {
	return s.call(func() {
		s.background(func() {
			for s.pause(every) {
				ctx, cancel := context.WithTimeout(s.ctx, askTimeout)
				now, err := s.CheckTopics(ctx)
				cancel()
				if err == nil {
					err = known.Changed(now)
				}
				if err != nil && s.ctx.Err() == nil {
					tell(err)
				}
			}
		})
	})
}

// CheckTopics reads the topology and reports all that is wrong with the input topics.
func (s *Source) CheckTopics(ctx context.Context) (Topology, error) {
	var top Topology
	details, err := s.admin.ListTopics(ctx, inputNames...)
	if err != nil {
		return top, fmt.Errorf("list the input topics: %w", err)
	}
	var faults []error
	for _, topic := range schemas.Inputs {
		d, ok := details[topic.String()]
		if !ok || d.Err != nil {
			faults = append(faults, fmt.Errorf("topic %s cannot be read: create it, or allow this user to read it: %w", topic, d.Err))
			continue
		}
		top.IDs[topic] = d.ID
		switch n := int32(len(d.Partitions)); {
		case top.Partitions == 0:
			top.Partitions = n
		case n != top.Partitions:
			faults = append(faults, fmt.Errorf("topic %s has %d partitions and %s has %d: a trip's events would fall into different partitions; "+
				"create all three input topics with one partition count", topic, n, schemas.Inputs[0], top.Partitions))
		}
	}
	if s.o.AppendTimes == AppendTimesFromBroker && len(faults) == 0 {
		faults = append(faults, s.checkAppendTimes(ctx))
	}
	s.do(func() { s.ids = top.IDs })
	return top, errors.Join(faults...)
}

// PartitionCounts are those of the input topics now; an error if any cannot be seen.
func (s *Source) PartitionCounts(ctx context.Context) (counts [schemas.NumInputs]int, err error) {
	details, err := s.admin.ListTopics(ctx, inputNames...)
	if err != nil {
		return counts, fmt.Errorf("list the input topics: %w", err)
	}
	for _, topic := range schemas.Inputs {
		d := details[topic.String()]
		if d.Err != nil || len(d.Partitions) == 0 {
			return counts, fmt.Errorf("topic %s cannot be seen: %w", topic, d.Err)
		}
		counts[topic] = len(d.Partitions)
	}
	return counts, nil
}

func (s *Source) checkAppendTimes(ctx context.Context) error {
	configs, err := s.admin.DescribeTopicConfigs(ctx, inputNames...)
	if err != nil {
		return fmt.Errorf("describe the input topics: %w", err)
	}
	var faults []error
	for _, c := range configs {
		if c.Err != nil {
			faults = append(faults, fmt.Errorf("describe topic %s: %w", c.Name, c.Err))
		}
		for _, kv := range c.Configs {
			if kv.Key == "message.timestamp.type" && kv.MaybeValue() != "LogAppendTime" {
				faults = append(faults, fmt.Errorf("topic %s has message.timestamp.type=%s: a producer's wrong clock could not be told; "+
					"set it to LogAppendTime", c.Name, kv.MaybeValue()))
			}
		}
	}
	return errors.Join(faults...)
}

// Offsets hold one offset per input topic for each partition.
type Offsets map[schemas.Partition][schemas.NumInputs]schemas.Offset

// StartOffsets are the first offsets that the logs still hold.
func (s *Source) StartOffsets(ctx context.Context) (Offsets, error) {
	return s.listed(s.admin.ListStartOffsets(ctx, inputNames...))
}

// EndOffsets are the last stable offsets: where a replay of what is there now ends.
func (s *Source) EndOffsets(ctx context.Context) (Offsets, error) {
	return s.listed(s.admin.ListCommittedOffsets(ctx, inputNames...))
}

func (s *Source) listed(listed kadm.ListedOffsets, err error) (Offsets, error) {
	if err == nil {
		err = listed.Error()
	}
	if err != nil {
		return nil, fmt.Errorf("list offsets of the input topics: %w", err)
	}
	all := Offsets{}
	listed.Each(func(o kadm.ListedOffset) {
		if topic, ok := schemas.InputTopic(o.Topic); ok {
			offsets := all[schemas.Partition(o.Partition)]
			offsets[topic] = schemas.Offset(o.Offset)
			all[schemas.Partition(o.Partition)] = offsets
		}
	})
	return all, nil
}

// probe asks for the log ends again and again. Fetches that bring nothing are not seen by
// the client's user, and a silent topic must still be known to be read to its end.
func (s *Source) probe() {
	tick := time.NewTicker(s.o.ProbeEvery)
	defer tick.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-tick.C:
		case <-s.added:
		}
		asked := time.Now()
		ctx, cancel := context.WithTimeout(s.ctx, probeTimeout)
		// Of several brokers some may fail: what the others say counts. Where none answered,
		// CheckedAt grows old: that is how it shows.
		ends, _ := s.admin.ListCommittedOffsets(ctx, inputNames...)
		cancel()
		ends.Each(func(o kadm.ListedOffset) {
			if o.Err == nil {
				s.heard.Store(&asked)
			}
		})
		s.do(func() { s.probed(ends, asked) })
	}
}

// probed takes what the brokers said of the log ends when asked.
func (s *Source) probed(ends kadm.ListedOffsets, asked time.Time) {
	ends.Each(func(o kadm.ListedOffset) {
		topic, ok := schemas.InputTopic(o.Topic)
		t := s.tasks[schemas.Partition(o.Partition)]
		if !ok || t == nil || o.Err != nil {
			return
		}
		l := t.lanes[topic]
		l.end, l.checked = max(schemas.Offset(o.Offset), l.fetched), asked // fetches may have come since
	})
	s.settle(false)
	s.serveAll()
}

// unknownID finds out whether the topic is another one now: a broker that has just come up
// may not know the id yet, and then the lane tries again. It runs beside the Source's
// goroutine.
func (s *Source) unknownID(l *lane) {
	ctx, cancel := context.WithTimeout(s.ctx, askTimeout)
	defer cancel()
	details, err := s.admin.ListTopics(ctx, l.topic.String())
	d := details[l.topic.String()]
	s.do(func() {
		switch known := s.ids[l.topic]; {
		case !s.owns(l):
		case err != nil || d.Err != nil || known == d.ID:
			s.retry(l)
		default:
			l.stopped = &TopicRecreatedError{l.topic, l.partition, l.fetched}
			s.o.OnFault(l.stopped)
		}
	})
}

// outOfRange finds the exact gap and reports it, or that the topic is another one, which a client that sees it for the
// first time cannot know. It runs beside the Source's goroutine.
func (s *Source) outOfRange(l *lane) {
	ctx, cancel := context.WithTimeout(s.ctx, askTimeout)
	defer cancel()
	fault := &OutOfRangeError{Topic: l.topic, Partition: l.partition, LogStart: -1, LogEnd: -1}
	look := func(listed kadm.ListedOffsets, err error, into *schemas.Offset) {
		if o, ok := listed.Lookup(l.topic.String(), int32(l.partition)); ok && err == nil && o.Err == nil {
			*into = schemas.Offset(o.Offset)
		}
	}
	starts, err := s.admin.ListStartOffsets(ctx, l.topic.String())
	look(starts, err, &fault.LogStart)
	ends, err := s.admin.ListEndOffsets(ctx, l.topic.String())
	look(ends, err, &fault.LogEnd)
	details, err := s.admin.ListTopics(ctx, l.topic.String())
	now := details[l.topic.String()]
	s.do(func() {
		if !s.owns(l) {
			return
		}
		if known := s.ids[l.topic]; known != [16]byte{} && err == nil && now.Err == nil && now.ID != known {
			l.stopped = &TopicRecreatedError{l.topic, l.partition, l.fetched}
		} else {
			fault.Wanted = l.fetched
			l.stopped = fault
		}
		s.o.OnFault(l.stopped)
	})
}
