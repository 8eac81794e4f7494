package webhook

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/schemas"
	"taximeter/schemas/codec"
	"taximeter/schemas/registry"
)

// Options of a Deliverer. Client, Namespace, Registry and Log are required.
type Options struct {
	Client    []kgo.Opt // how to reach the brokers: seeds, TLS, SASL, dialer
	Namespace string    // whose alerts are delivered; names the consumer group
	Registry  *registry.Client
	Log       *slog.Logger
}

// Deliverer is one member of the group that delivers a namespace's alerts.
type Deliverer struct {
	o        Options
	cfg      Config
	routes   routes
	channels []*channel
	values   values
	metrics  *metrics
	client   *kgo.Client

	mu         sync.Mutex // guards partitions
	partitions map[int32]*partition
}

// New does not connect.
func New(cfg Config, o Options) (*Deliverer, error) {
	d := &Deliverer{o: o, cfg: cfg, routes: newRoutes(cfg.Channels), metrics: newMetrics(), partitions: make(map[int32]*partition),
		values: values{registry: o.Registry, printers: make(map[int]*codec.Printer)}}
	for _, c := range cfg.Channels {
		made, err := newChannel(c, cfg.Timeout)
		if err != nil {
			return nil, fmt.Errorf("alerts: %w", err)
		}
		d.channels = append(d.channels, made)
	}
	return d, nil
}

// Group is the consumer group of a namespace's deliverers.
func Group(namespace string) string { return "taximeter-" + namespace + "-alerts" }

// Metrics are what the deliverer tells Prometheus.
func (d *Deliverer) Metrics() prometheus.Collector { return d.metrics }

// Run delivers until ctx ends, and then commits what is done. It may be run again after an
// error.
func (d *Deliverer) Run(ctx context.Context) (err error) {
	if err := d.prepare(ctx); ctx.Err() != nil {
		return nil
	} else if err != nil {
		return fmt.Errorf("deliver alerts: %w", err)
	}
	d.client, err = kgo.NewClient(append([]kgo.Opt{
		kgo.DisableClientMetrics(),
		kgo.ConsumerGroup(Group(d.o.Namespace)), kgo.ConsumeTopics(schemas.TopicAlerts),
		// Where the topic ended at the first start is committed; what comes later without an
		// offset is a new partition.
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.FetchMaxWait(time.Second),
		kgo.Balancers(kgo.CooperativeStickyBalancer()), kgo.BlockRebalanceOnPoll(),
		kgo.AutoCommitMarks(), kgo.AutoCommitInterval(time.Second),
		kgo.OnPartitionsAssigned(d.assigned), kgo.OnPartitionsRevoked(d.revoked), kgo.OnPartitionsLost(d.lost),
		kgo.RequiredAcks(kgo.AllISRAcks()),
	}, d.o.Client...)...)
	if err != nil {
		return fmt.Errorf("deliver alerts: %w", err)
	}
	defer d.client.CloseAllowingRebalance() // hands everything back: revoked commits
	for {
		fetches := d.client.PollRecords(ctx, maxPoll)
		if ctx.Err() != nil {
			return nil
		}
		for _, f := range fetches.Errors() {
			d.o.Log.Warn("alerts cannot be read; trying again", "topic", f.Topic, "partition", f.Partition, "err", f.Err)
		}
		d.mu.Lock()
		fetches.EachRecord(func(r *kgo.Record) {
			if p := d.partitions[r.Partition]; p != nil {
				p.push(r)
			}
		})
		d.mu.Unlock()
		d.client.AllowRebalance()
	}
}
