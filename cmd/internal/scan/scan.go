// Package scan reads stretches of Kafka topics once, from a point to the end as of now, as
// a read_committed consumer would. It belongs to no consumer group and moves no offset.
package scan

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/internal/access"
	"taximeter/schemas"
)

// Range is a stretch of a topic.
type Range struct {
	Topic      string
	Partitions []int32        // nil = all
	Since      schemas.Millis // by the records' timestamps; NoTime = from the beginning
}

// Extent is what a partition of the topic held.
type Extent struct {
	First schemas.Offset // of the log
	From  schemas.Offset // where reading began
	End   schemas.Offset // after the last committed record
}

// ErrNoTopic is a topic that the brokers do not have.
var ErrNoTopic = errors.New("no such topic")

// Read gives each the committed records of a range, in the log's order per partition.
func Read(ctx context.Context, kafka access.Kafka, r Range, each func(*kgo.Record) error) (map[int32]Extent, error) {
	client, err := kafka.Client(kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.KeepControlRecords(), kgo.FetchMaxWait(time.Second)) // the last record may be a transaction's
	if err != nil {
		return nil, err
	}
	defer client.Close()
	extents, err := measure(ctx, kadm.NewClient(client), r)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", r.Topic, err)
	}
	from, left := make(map[int32]kgo.Offset), make(map[int32]schemas.Offset)
	for p, e := range extents {
		if e.From < e.End {
			from[p], left[p] = kgo.NewOffset().At(int64(e.From)), e.End
		}
	}
	client.AddConsumePartitions(map[string]map[int32]kgo.Offset{r.Topic: from})
	for len(left) > 0 {
		fetches := client.PollFetches(ctx)
		for _, f := range fetches.Errors() {
			return nil, fmt.Errorf("read %s/%d: %w", f.Topic, f.Partition, f.Err)
		}
		for records := fetches.RecordIter(); !records.Done(); {
			rec := records.Next()
			end, ok := left[rec.Partition]
			if !ok {
				continue
			}
			if at := schemas.Offset(rec.Offset); at < end && !rec.Attrs.IsControl() {
				if err := each(rec); err != nil {
					return nil, fmt.Errorf("%s/%d/%d: %w", rec.Topic, rec.Partition, rec.Offset, err)
				}
			}
			if schemas.Offset(rec.Offset)+1 >= end {
				delete(left, rec.Partition)
				client.PauseFetchPartitions(map[string][]int32{r.Topic: {rec.Partition}})
			}
		}
	}
	return extents, nil
}

// Bounds are what a topic holds now.
func Bounds(ctx context.Context, kafka access.Kafka, topic string) (map[int32]Extent, error) {
	client, err := kafka.Client(kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	extents, err := measure(ctx, kadm.NewClient(client), Range{Topic: topic})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", topic, err)
	}
	return extents, nil
}

// measure asks for the bounds of a range.
func measure(ctx context.Context, admin *kadm.Client, r Range) (map[int32]Extent, error) {
	topics, err := admin.ListTopics(ctx, r.Topic)
	if err != nil {
		return nil, err
	}
	if !topics.Has(r.Topic) {
		return nil, ErrNoTopic
	}
	starts, err := listed(admin.ListStartOffsets(ctx, r.Topic))
	if err != nil {
		return nil, err
	}
	ends, err := listed(admin.ListCommittedOffsets(ctx, r.Topic))
	if err != nil {
		return nil, err
	}
	from := starts
	if r.Since > 0 {
		if from, err = listed(admin.ListOffsetsAfterMilli(ctx, int64(r.Since), r.Topic)); err != nil {
			return nil, err
		}
	}
	extents := make(map[int32]Extent)
	ends.Each(func(e kadm.ListedOffset) {
		s, _ := starts.Lookup(r.Topic, e.Partition)
		f, _ := from.Lookup(r.Topic, e.Partition)
		if r.Partitions == nil || slices.Contains(r.Partitions, e.Partition) {
			extents[e.Partition] = Extent{schemas.Offset(s.Offset), schemas.Offset(max(f.Offset, s.Offset)), schemas.Offset(e.Offset)}
		}
	})
	return extents, nil
}

func listed(o kadm.ListedOffsets, err error) (kadm.ListedOffsets, error) {
	if err == nil {
		err = o.Error()
	}
	return o, err
}
