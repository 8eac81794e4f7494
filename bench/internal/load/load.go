// Package load brings the benches' events, tariffs and rules into a broker.
//
// It must never be part of a measure: what loads runs in the bench's own process.
//
// Start reading at Loader.Send.
package load

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/bench/internal/wide"
	"taximeter/schemas"
	"taximeter/schemas/avro"
	"taximeter/schemas/codec"
	"taximeter/schemas/edge"
	"taximeter/schemas/registry"
)

// Options of a Loader.
type Options struct {
	Brokers     []string
	Registry    string
	Compression string        // none, snappy, lz4 or zstd
	BatchBytes  int32         // at most so much in a batch, uncompressed
	Linger      time.Duration // how long a batch may wait to become full
}

// Loader sends records. It belongs to one goroutine.
type Loader struct {
	Client *kgo.Client

	registry *registry.Client
	encoder  *wide.Encoder
	failed   chan error // the first, if any
	Bytes    int64      // of the values sent
}

var codecs = map[string]kgo.CompressionCodec{"none": kgo.NoCompression(), "snappy": kgo.SnappyCompression(), "lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression()}

// New registers the schemas.
func New(ctx context.Context, o Options) (*Loader, error) {
	compression, ok := codecs[o.Compression]
	if !ok {
		return nil, fmt.Errorf("compression %q: give none, snappy, lz4 or zstd", o.Compression)
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(o.Brokers...), kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)),
		kgo.ProducerBatchCompression(compression), kgo.ProducerBatchMaxBytes(o.BatchBytes), kgo.ProducerLinger(o.Linger), kgo.MaxBufferedRecords(100_000))
	if err != nil {
		return nil, err
	}
	l := &Loader{Client: client, failed: make(chan error, 1)}
	if l.registry, err = registry.NewClient(registry.ClientConfig{URLs: []string{o.Registry}}); err == nil {
		l.encoder, err = wide.Register(ctx, l.registry)
	}
	if err != nil {
		client.Close()
		return nil, err
	}
	return l, nil
}

// Catalogue publishes tariffs and rules as their owners would.
func (l *Loader) Catalogue(ctx context.Context, tariffs []schemas.Tariff, rules []schemas.Rule) error {
	id := func(topic string) (int, error) {
		c, ok := avro.Of(topic)
		if !ok {
			return 0, fmt.Errorf("topic %s has no contract", topic)
		}
		return l.registry.Register(ctx, c.Subject(), c.Schema)
	}
	tariffID, err := id(schemas.TopicTariffs)
	if err != nil {
		return err
	}
	ruleID, err := id(schemas.TopicRules)
	if err != nil {
		return err
	}
	var records []*kgo.Record
	for i := range tariffs {
		value, err := codec.AppendTariff(nil, tariffID, &tariffs[i])
		if err != nil {
			return err
		}
		records = append(records, &kgo.Record{Topic: schemas.TopicTariffs, Key: []byte(edge.TariffKey(&tariffs[i])), Value: value})
	}
	for i := range rules {
		value, err := codec.AppendRule(nil, ruleID, &rules[i])
		if err != nil {
			return err
		}
		records = append(records, &kgo.Record{Topic: schemas.TopicRules, Key: []byte(edge.RuleKey(&rules[i])), Value: value})
	}
	return l.Client.ProduceSync(ctx, records...).FirstErr()
}

// Send produces the line's record, and waits only while too many are under way.
func (l *Loader) Send(ctx context.Context, line *edge.Line) error {
	r, err := l.encoder.Record(line)
	if err != nil {
		return err
	}
	l.Bytes += int64(len(r.Value))
	l.Client.Produce(ctx, r, func(_ *kgo.Record, err error) {
		if err != nil {
			select {
			case l.failed <- err:
			default: // the first is enough
			}
		}
	})
	return l.err()
}

// Flush waits until all that was sent is in the log.
func (l *Loader) Flush(ctx context.Context) error {
	if err := l.Client.Flush(ctx); err != nil {
		return err
	}
	return l.err()
}

func (l *Loader) err() error {
	select {
	case err := <-l.failed:
		return fmt.Errorf("the broker did not take a record: %w", err)
	default:
		return nil
	}
}
