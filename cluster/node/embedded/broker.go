package embedded

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// AppendTimes says where the append time of records comes from.
type AppendTimes uint8

const (
	// AppendTimesFromBroker is what production does: the broker stamps its own clock.
	// Unlike production, the records stay marked as CreateTime.
	AppendTimesFromBroker AppendTimes = iota
	// AppendTimesFromRecords keeps the producer's times, for event files that tell when
	// their records were appended.
	AppendTimesFromRecords
)

// Keep says how long the topics that forget keep their records.
type Keep uint8

const (
	// KeepByContract is the contract's days, by the records' times.
	KeepByContract Keep = iota
	// KeepForever is for recordings: their records may be older than any retention.
	KeepForever
)

// Options of the embedded broker.
type Options struct {
	// Dir keeps the log across restarts; it is created if absent. "" keeps it in memory.
	Dir string
	// Port to listen on, at 127.0.0.1; 0 takes a free one.
	Port int
	// Tasks is the partition count of the input topics and of those beside them.
	Tasks int32
	// AppendTimes of all topics.
	AppendTimes AppendTimes
	// Keep says when records are forgotten.
	Keep Keep
	// RetentionBytes bounds each partition of the topics that forget; 0 bounds them by
	// time alone. It is enforced once a minute, and a reader that falls behind it is out
	// of range.
	RetentionBytes int64
}

// DefaultOptions is a broker in memory on a free port with the contract's 24 partitions.
func DefaultOptions() Options { return Options{Tasks: 24} }

// Broker is a running embedded broker with the contract's topics.
type Broker struct {
	cluster *kfake.Cluster
	lock    io.Closer // of Dir; nil in memory
}

// Start listens, loads what Dir holds and creates the topics that are missing.
func Start(ctx context.Context, o Options) (b *Broker, err error) {
	b = &Broker{}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.Close())
			b = nil
		}
	}()
	options := []kfake.Opt{
		kfake.Ports(o.Port),
		kfake.ClusterID("taximeter-embedded"),
		kfake.BrokerConfigs(map[string]string{
			"log.cleaner.backoff.ms": "60000",
		}),
	}
	if o.Dir != "" {
		if err := os.MkdirAll(o.Dir, 0o755); err != nil {
			return b, fmt.Errorf("data folder of the embedded broker: %w", err)
		}
		// Two brokers on one folder would write into each other's segments.
		if b.lock, err = vfs.Default.Lock(filepath.Join(o.Dir, "LOCK")); err != nil {
			return b, fmt.Errorf("embedded broker: the data folder %s is in use by another process: stop it, or choose another folder: %w", o.Dir, err)
		}
		options = append(options, kfake.DataDir(filepath.Join(o.Dir, "log")))
	}
	if b.cluster, err = kfake.NewCluster(options...); err != nil {
		if errors.Is(err, syscall.EADDRINUSE) {
			return b, fmt.Errorf("embedded broker: port %d of 127.0.0.1 is taken by another program: stop it, choose another port, or 0 for any free one: %w", o.Port, err)
		}
		return b, fmt.Errorf("start the embedded broker: %w", err)
	}
	if o.AppendTimes == AppendTimesFromBroker {
		stamper, err := newStamper()
		if err != nil {
			return b, fmt.Errorf("start the embedded broker: %w", err)
		}
		b.cluster.ControlKey(int16(kmsg.Produce), func(r kmsg.Request) (kmsg.Response, error, bool) {
			stamper.produce(r.(*kmsg.ProduceRequest), time.Now())
			return nil, nil, false
		})
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(b.Seeds()...))
	if err != nil {
		return b, fmt.Errorf("client of the embedded broker: %w", err)
	}
	defer client.Close()
	return b, CreateTopics(ctx, kadm.NewClient(client), o)
}

// Seeds are the addresses that a client dials first.
func (b *Broker) Seeds() []string { return slices.Clone(b.cluster.ListenAddrs()) }

// Close stops the broker and, with a Dir, writes down what a restart needs.
func (b *Broker) Close() error {
	if b.cluster != nil {
		b.cluster.Close()
	}
	if b.lock == nil {
		return nil
	}
	lock := b.lock
	b.lock = nil
	return lock.Close()
}
