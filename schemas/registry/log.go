package registry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/internal/topics"
)

// open makes or checks the topic and returns a client that reads it from its start.
func (s *Server) open(ctx context.Context) (*kgo.Client, error) {
	log, err := kgo.NewClient(append(s.cfg.Kafka[:len(s.cfg.Kafka):len(s.cfg.Kafka)],
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.KeepControlRecords(), // they hold offsets: without them the end may never be reached
		kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		kgo.FetchMaxWait(500*time.Millisecond),
		kgo.ProducerLinger(0),
	)...)
	if err != nil {
		return nil, err
	}
	if err := s.makeTopic(ctx, kadm.NewClient(log)); err != nil {
		log.Close()
		return nil, err
	}
	log.AddConsumePartitions(map[string]map[int32]kgo.Offset{s.cfg.Topic: {0: kgo.NewOffset().AtStart()}})
	return log, nil
}

func (s *Server) makeTopic(ctx context.Context, admin *kadm.Client) error {
	const compact = "compact"
	topic, err := topics.Ensure(ctx, admin, topics.Topic{Name: s.cfg.Topic, Partitions: 1, Replicas: s.cfg.ReplicationFactor,
		Configs: map[string]string{"cleanup.policy": compact}})
	if err != nil {
		return err
	}
	if n := len(topic.Partitions); n != 1 {
		return fmt.Errorf("the topic has %d partitions; the registry's log must have 1: name another topic", n)
	}
	configs, err := admin.DescribeTopicConfigs(ctx, s.cfg.Topic)
	if err != nil {
		return fmt.Errorf("look at the topic's configuration: %w", err)
	}
	config, err := configs.On(s.cfg.Topic, nil)
	if err == nil {
		err = config.Err
	}
	if err != nil {
		return fmt.Errorf("look at the topic's configuration: %w", err)
	}
	for _, c := range config.Configs {
		if c.Key == "cleanup.policy" && c.MaybeValue() != compact {
			return fmt.Errorf("the topic's cleanup.policy is %q, under which schemas would be lost; set it to %q", c.MaybeValue(), compact)
		}
	}
	return nil
}

// produce writes one record and returns its offset.
func produce(ctx context.Context, client *kgo.Client, r *kgo.Record) (int64, error) {
	written, err := client.ProduceSync(ctx, r).First()
	if err != nil {
		return 0, err
	}
	return written.Offset, nil
}

// take applies what was fetched and wakes those who wait for it.
func (s *Server) take(fetches kgo.Fetches) error {
	for _, e := range fetches.Errors() {
		if errors.Is(e.Err, kerr.OffsetOutOfRange) || errors.Is(e.Err, kerr.UnknownTopicID) {
			return fmt.Errorf("the log was cut or made anew under us; restart to read it again: %w", e.Err)
		}
		s.cfg.Log.Warn("schema registry cannot read its log; still trying", "topic", s.cfg.Topic, "err", e.Err)
	}
	records := fetches.Records()
	if len(records) == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range records {
		if !r.Attrs.IsControl() {
			if err := s.state.apply(r.Key, r.Value); err != nil {
				s.cfg.Log.Warn("schema registry leaves out a record", "topic", s.cfg.Topic, "offset", r.Offset, "err", err)
			}
		}
		s.position = r.Offset + 1
	}
	close(s.moved)
	s.moved = make(chan struct{})
	return nil
}

func (s *Server) offset() int64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.position
}

// reach waits until everything before that offset was applied.
func (s *Server) reach(ctx context.Context, offset int64) error {
	for {
		s.mu.RLock()
		position, moved := s.position, s.moved
		s.mu.RUnlock()
		if position >= offset {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return fmt.Errorf("read the log to offset %d, now at %d: %w", offset, position, ctx.Err())
		}
	}
}

// catchUp waits until everything committed before the call was applied.
func (s *Server) catchUp(ctx context.Context) error {
	ends, err := s.admin.ListCommittedOffsets(ctx, s.cfg.Topic)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return fmt.Errorf("ask for the log's end: %w", err)
	}
	end, ok := ends.Lookup(s.cfg.Topic, 0)
	if !ok {
		return fmt.Errorf("ask for the log's end: %w", kerr.UnknownTopicOrPartition)
	}
	return s.reach(ctx, end.Offset)
}
