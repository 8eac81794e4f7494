package world

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/cluster/node/embedded"
	"taximeter/cmd/internal/catalogue"
	"taximeter/cmd/internal/feed"
	"taximeter/internal/access"
	"taximeter/schemas"
	"taximeter/schemas/edge"
	"taximeter/schemas/registry"
)

// Options of a world.
type Options struct {
	Dir          string // keeps the broker's log; "" = in memory
	KafkaPort    int    // 0 = any free one
	RegistryPort int    // 0 = any free one
	Partitions   int    // of the input topics
	Keep         embedded.Keep
	Log          *slog.Logger
	// Broker stands in for the embedded one, with the contract's topics; Client tells how to
	// reach it. Feed is more for the client that sends.
	Broker Broker
	Client []kgo.Opt
	Feed   []kgo.Opt
	// Send changes the record of a line before it is sent, for harnesses; nil = as it is.
	Send func(*edge.Line, *kgo.Record)
}

// Broker is a running Kafka broker.
type Broker interface {
	Seeds() []string // host:port
	Close() error
}

// World is a running broker and registry. Record timestamps are what the feeds say: they
// stand for the broker's append times.
type World struct {
	broker   Broker
	registry *http.Server
	url      string
	stop     context.CancelFunc
	followed chan error // the registry's end

	client  *kgo.Client
	schemas *registry.Client
	encoder *feed.Encoder
	change  func(*edge.Line, *kgo.Record)
	sent    int64

	closing sync.Once
	closed  error // of closing
}

// Start brings both up.
func Start(ctx context.Context, o Options) (w *World, err error) {
	w = &World{change: o.Send}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.Close())
			w = nil
		}
	}()
	if w.broker, err = openBroker(ctx, o); err != nil {
		return w, err
	}
	if err := w.openRegistry(ctx, o); err != nil {
		return w, err
	}
	w.client, err = kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(w.Brokers()...), kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)),
		kgo.ProducerLinger(5 * time.Millisecond), kgo.MaxBufferedRecords(100_000)}, slices.Concat(o.Client, o.Feed)...)...)
	if err != nil {
		return w, err
	}
	w.encoder, err = feed.Register(ctx, w.schemas)
	return w, err
}

func openBroker(ctx context.Context, o Options) (Broker, error) {
	if o.Broker != nil {
		return o.Broker, nil
	}
	b := embedded.DefaultOptions()
	b.Port, b.Tasks, b.AppendTimes, b.Keep = o.KafkaPort, int32(o.Partitions), embedded.AppendTimesFromRecords, o.Keep
	if o.Dir != "" {
		b.Dir = filepath.Join(o.Dir, "kafka")
	}
	broker, err := embedded.Start(ctx, b)
	if err != nil {
		return nil, err // and no typed nil
	}
	return broker, nil
}

func (w *World) openRegistry(ctx context.Context, o Options) error {
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(o.RegistryPort)))
	if err != nil {
		return fmt.Errorf("embedded schema registry: %w: stop what listens there, or choose another port", err)
	}
	w.url = "http://" + listener.Addr().String()
	server := registry.NewServer(registry.ServerConfig{Kafka: append([]kgo.Opt{kgo.SeedBrokers(w.Brokers()...)}, o.Client...), Log: o.Log})
	running, stop := context.WithCancel(context.Background())
	w.stop, w.followed = stop, make(chan error, 1)
	go func() { w.followed <- server.Run(running) }()
	w.registry = &http.Server{Handler: server, ReadHeaderTimeout: 5 * time.Second}
	go func() {
		if err := w.registry.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			o.Log.Error("embedded schema registry ended", "err", err)
		}
	}()
	select {
	case <-server.Ready():
	case err := <-w.followed:
		w.followed <- err
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
	w.schemas, err = registry.NewClient(registry.ClientConfig{URLs: []string{w.url}})
	return err
}

// Brokers are the addresses of the broker.
func (w *World) Brokers() []string { return w.broker.Seeds() }

// Kafka is how the broker is reached.
func (w *World) Kafka() access.Kafka { return access.Kafka{Brokers: w.Brokers()} }

// RegistryURL is where the registry answers.
func (w *World) RegistryURL() string { return w.url }

// Registry is a client of it.
func (w *World) Registry() *registry.Client { return w.schemas }

// Close stops everything; what was written stays in Dir. Closed again, it says the same.
func (w *World) Close() error {
	w.closing.Do(func() { w.closed = w.close() })
	return w.closed
}

func (w *World) close() error {
	var errs []error
	if w.client != nil {
		w.client.Close()
	}
	if w.registry != nil {
		errs = append(errs, w.registry.Close())
	}
	if w.stop != nil {
		w.stop()
		errs = append(errs, <-w.followed)
	}
	if w.broker != nil {
		errs = append(errs, w.broker.Close())
	}
	return errors.Join(errs...)
}

// Catalogue publishes tariffs and rules as their owners would.
func (w *World) Catalogue(ctx context.Context, tariffs []schemas.Tariff, rules []schemas.Rule) error {
	return catalogue.Publish(ctx, w.client, w.schemas, tariffs, rules)
}

// unknownTimes begins the timestamps of records whose append time is not known: negative,
// so that they mean no time, and rising, so that they keep the order of their file.
const unknownTimes = -(1 << 41)

// Send produces the record of one event; failed hears, from any goroutine, of a record that
// the broker did not take. It belongs to one goroutine.
func (w *World) Send(ctx context.Context, l *edge.Line, failed func(error)) error {
	r, err := w.encoder.Record(l)
	if err != nil {
		return err
	}
	if l.AppendedAt == schemas.NoTime {
		r.Timestamp = time.UnixMilli(unknownTimes + w.sent)
	}
	if w.change != nil {
		w.change(l, r)
	}
	w.sent++
	w.client.Produce(ctx, r, func(_ *kgo.Record, err error) {
		if err != nil {
			failed(err)
		}
	})
	return nil
}

// Flush waits until all that was sent is in the log.
func (w *World) Flush(ctx context.Context) error { return w.client.Flush(ctx) }

// Fresh reports whether no event was ever sent to this world.
func (w *World) Fresh(ctx context.Context) (bool, error) {
	ends, err := endOffsets(ctx, w.client)
	if err != nil {
		return false, err
	}
	for _, end := range ends {
		if end > 0 {
			return false, nil
		}
	}
	return true, nil
}
