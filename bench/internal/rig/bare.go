package rig

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/internal/heap"
	"taximeter/schemas"
	"taximeter/schemas/codec"
	"taximeter/schemas/registry"
)

// Ends are log ends, by topic and partition.
type Ends map[string]map[int32]int64

// InputEnds of the input topics as of now.
func InputEnds(ctx context.Context, client *kgo.Client) (Ends, error) {
	listed, err := kadm.NewClient(client).ListEndOffsets(ctx, schemas.TopicTelemetry, schemas.TopicRides, schemas.TopicPayments)
	if err == nil {
		err = listed.Error()
	}
	if err != nil {
		return nil, fmt.Errorf("ends of the input topics: %w", err)
	}
	ends := Ends{}
	listed.Each(func(o kadm.ListedOffset) {
		if ends[o.Topic] == nil {
			ends[o.Topic] = map[int32]int64{}
		}
		ends[o.Topic][o.Partition] = o.Offset
	})
	return ends, nil
}

// BareSpec is a consumer that decodes what the meter reads and keeps nothing.
type BareSpec struct {
	Where
	Ends Ends
}

// Bare is its report.
type Bare struct {
	Usage
	Records    int64
	Unreadable int64
}

// RunBare runs a bare consumer in a process of its own.
func RunBare(ctx context.Context, s BareSpec) (b Bare, err error) {
	p, err := Spawn(ctx, RoleBare, s)
	if err != nil {
		return b, err
	}
	if err := p.Hear(&b); err != nil {
		return b, err
	}
	return b, p.Stop()
}

// consumeBare reads in large fetches, as is cheapest, and decodes with the decoder of actors/ingest.
func consumeBare(ctx context.Context, s BareSpec, say *json.Encoder) error {
	heap.Tune()
	used := Meter()
	client, err := kgo.NewClient(kgo.SeedBrokers(s.Brokers...), kgo.DisableClientMetrics(), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.KeepControlRecords(), kgo.ConsumeResetOffset(kgo.NoResetOffset()), kgo.FetchMaxWait(500*time.Millisecond),
		kgo.FetchMaxBytes(16<<20), kgo.FetchMaxPartitionBytes(512<<10), kgo.MaxDecompressBatchBytes(64<<20))
	if err != nil {
		return err
	}
	defer client.Close()
	schemaRegistry, err := registry.NewClient(registry.ClientConfig{URLs: []string{s.Registry}})
	if err != nil {
		return err
	}
	left, from := 0, map[string]map[int32]kgo.Offset{}
	for topic, ends := range s.Ends {
		from[topic] = map[int32]kgo.Offset{}
		for p, end := range ends {
			if end > 0 {
				from[topic][p] = kgo.NewOffset().At(0)
				left++
			}
		}
	}
	client.AddConsumePartitions(from)
	var b Bare
	decoder, event := codec.NewDecoder(), schemas.Event{}
	for left > 0 {
		fetches := client.PollRecords(ctx, 16384)
		if errs := fetches.Errors(); len(errs) > 0 {
			return fmt.Errorf("bare consumer, %s: %w", errs[0].Topic, errs[0].Err)
		}
		fetches.EachPartition(func(f kgo.FetchTopicPartition) {
			topic, _ := schemas.InputTopic(f.Topic)
			end := s.Ends[f.Topic][f.Partition]
			for _, r := range f.Records {
				if r.Offset >= end {
					continue
				}
				if r.Offset == end-1 {
					left--
				}
				if r.Attrs.IsControl() {
					continue
				}
				b.Records++
				if err := decode(ctx, decoder, schemaRegistry, topic, r.Value, &event); err != nil {
					b.Unreadable++
				}
			}
		})
	}
	b.Usage = used()
	return say.Encode(&b)
}

func decode(ctx context.Context, d *codec.Decoder, r *registry.Client, topic schemas.Topic, value []byte, into *schemas.Event) error {
	err := d.Decode(topic, value, into)
	unknown, ok := errors.AsType[*codec.UnknownSchemaError](err)
	if !ok {
		return err
	}
	schema, err := r.SchemaByID(ctx, unknown.ID)
	if err != nil {
		return err
	}
	if err := d.Learn(topic, unknown.ID, schema); err != nil {
		return err
	}
	return d.Decode(topic, value, into)
}
