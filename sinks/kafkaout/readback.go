package kafkaout

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/schemas"
)

// readBack gives each the committed records of our namespace in a marker partition, from an
// offset to its end as of now, and returns that end.
func (k *Kafka) readBack(ctx context.Context, topic string, p schemas.Partition, from schemas.Offset, each func(*kgo.Record) error) (schemas.Offset, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	return k.read(ctx, topic, p, from, func(r *kgo.Record) error {
		if string(r.Key) != k.o.Namespace {
			return nil
		}
		return each(r)
	})
}

// read gives each the committed records of a partition, from an offset to its end as of
// now, and returns that end.
//
// It reads to the high watermark and not to the last stable offset: another namespace's
// open transaction holds the latter back, and our newest marker may lie behind it.
func (k *Kafka) read(ctx context.Context, topic string, p schemas.Partition, from schemas.Offset, each func(*kgo.Record) error) (schemas.Offset, error) {
	start, end, err := k.bounds(ctx, topic, p)
	if err != nil {
		return 0, fmt.Errorf("read %s/%d back: %w", topic, p, err)
	}
	next := max(from, start)
	if next >= end {
		return next, nil
	}
	client, err := kgo.NewClient(k.o.clientOpts(
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {int32(p): kgo.NewOffset().At(int64(next))}}),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.KeepControlRecords(),   // the last record is a transaction's
		kgo.DisableFetchSessions(), // there is mostly one fetch, and a session would have to be closed
	)...)
	if err != nil {
		return 0, fmt.Errorf("read %s/%d back: %w", topic, p, err)
	}
	defer client.Close()
	for next < end {
		fetches := client.PollFetches(ctx)
		for _, fault := range fetches.Errors() {
			return 0, fmt.Errorf("read %s/%d back, at %d of %d: %w%s", topic, p, next, end, fault.Err, k.held(ctx, topic, int32(p), int64(next)))
		}
		for records := fetches.RecordIter(); !records.Done(); {
			r := records.Next()
			next = schemas.Offset(r.Offset + 1)
			if r.Attrs.IsControl() {
				continue
			}
			if err := each(r); err != nil {
				return 0, fmt.Errorf("%s/%d offset %d is not ours to read: %w", topic, p, r.Offset, err)
			}
		}
	}
	return next, nil
}
