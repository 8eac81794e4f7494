package iceberg

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/schemas"
)

// Kafka is the Source: direct reads, without a consumer group and without ever moving an
// offset.
type Kafka struct {
	options  []kgo.Opt
	client   *kgo.Client
	registry Registry
}

// Registry finds writer schemas: a *registry.Client.
type Registry interface {
	SchemaByID(ctx context.Context, id int) (string, error)
}

const (
	// Fetched and not yet taken: what bounds memory.
	fetchBytes     = 8 << 20
	partitionBytes = 1 << 20
	// stalledAfter is how long a read waits for the next record. All of them are committed and
	// in the log, so one that does not come is a broker that does not answer.
	stalledAfter = 30 * time.Second
)

// NewKafka does not connect yet. options add to how clients reach the brokers.
func NewKafka(brokers []string, r Registry, options ...kgo.Opt) (*Kafka, error) {
	k := &Kafka{registry: r, options: append([]kgo.Opt{
		kgo.SeedBrokers(brokers...), kgo.ClientID("taximeter-lake"),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		kgo.FetchMaxBytes(fetchBytes), kgo.FetchMaxPartitionBytes(partitionBytes), kgo.MaxConcurrentFetches(2),
	}, options...)}
	client, err := kgo.NewClient(k.options...)
	if err != nil {
		return nil, fmt.Errorf("the lake's Kafka client: %w", err)
	}
	k.client = client
	return k, nil
}

// Close ends the connection.
func (k *Kafka) Close() { k.client.Close() }

// Schema asks the registry.
func (k *Kafka) Schema(ctx context.Context, id int) (string, error) {
	return k.registry.SchemaByID(ctx, id)
}

// Starts lists the logs' beginnings.
func (k *Kafka) Starts(ctx context.Context) (starts [schemas.NumInputs]map[schemas.Partition]schemas.Offset, err error) {
	listed, err := kadm.NewClient(k.client).ListStartOffsets(ctx, schemas.TopicTelemetry, schemas.TopicRides, schemas.TopicPayments)
	if err != nil {
		return starts, fmt.Errorf("list the beginnings of the input topics: %w", err)
	}
	listed.Each(func(o kadm.ListedOffset) {
		t, ok := schemas.InputTopic(o.Topic)
		if o.Err != nil {
			err = errors.Join(err, fmt.Errorf("beginning of %s partition %d: %w", o.Topic, o.Partition, o.Err))
		}
		if !ok || o.Err != nil {
			return
		}
		if starts[t] == nil {
			starts[t] = map[schemas.Partition]schemas.Offset{}
		}
		starts[t][schemas.Partition(o.Partition)] = schemas.Offset(o.Offset)
	})
	return starts, err
}

// Read consumes the ranges with a client of its own, so that nothing of one read is left to
// the next.
func (k *Kafka) Read(ctx context.Context, ranges []Range, take func(*Record) error) error {
	if len(ranges) == 0 {
		return nil
	}
	from := map[string]map[int32]kgo.Offset{}
	left := map[string]map[int32]*Range{}
	for i := range ranges {
		r := &ranges[i]
		topic := r.Topic.String()
		if from[topic] == nil {
			from[topic], left[topic] = map[int32]kgo.Offset{}, map[int32]*Range{}
		}
		from[topic][int32(r.Partition)] = kgo.NewOffset().At(int64(r.First))
		left[topic][int32(r.Partition)] = r
	}
	client, err := kgo.NewClient(append(k.options[:len(k.options):len(k.options)], kgo.ConsumePartitions(from))...)
	if err != nil {
		return fmt.Errorf("the lake's Kafka consumer: %w", err)
	}
	defer client.Close()
	for open := len(ranges); open > 0; {
		fetches, err := poll(ctx, client)
		if err != nil {
			return err
		}
		if err := firstFault(fetches, left); err != nil {
			return err
		}
		var record Record
		fetches.EachPartition(func(p kgo.FetchTopicPartition) {
			r := left[p.Topic][p.Partition]
			if r == nil || err != nil {
				return
			}
			for _, x := range p.Records {
				if x.Offset >= int64(r.Next) {
					err = fmt.Errorf("%s partition %d: the record at offset %d did not come, but %d did", p.Topic, p.Partition, r.Next-1, x.Offset)
					return
				}
				record = Record{Topic: r.Topic, Partition: r.Partition, Offset: schemas.Offset(x.Offset), AppendedAt: schemas.Millis(x.Timestamp.UnixMilli()), Value: x.Value}
				if err = take(&record); err != nil {
					return
				}
				if x.Offset == int64(r.Next)-1 {
					client.PauseFetchPartitions(map[string][]int32{p.Topic: {p.Partition}})
					delete(left[p.Topic], p.Partition)
					open--
					return
				}
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// poll waits for records, but not for ever.
func poll(ctx context.Context, client *kgo.Client) (kgo.Fetches, error) {
	bounded, cancel := context.WithTimeout(ctx, stalledAfter)
	defer cancel()
	fetches := client.PollFetches(bounded)
	if bounded.Err() != nil && fetches.NumRecords() == 0 {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("no record came from Kafka in %s", stalledAfter)
	}
	return fetches, nil
}

func firstFault(fetches kgo.Fetches, left map[string]map[int32]*Range) (err error) {
	fetches.EachError(func(topic string, p int32, fault error) {
		r := left[topic][p]
		switch {
		case err != nil || r == nil || kerr.IsRetriable(fault) && !errors.Is(fault, kerr.OffsetOutOfRange):
		case errors.Is(fault, kerr.OffsetOutOfRange):
			err = fmt.Errorf("read %s partition %d from offset %d: the log no longer begins there: %w", topic, p, r.First, fault)
		default:
			err = fmt.Errorf("read %s partition %d: %w", topic, p, fault)
		}
	})
	return err
}
