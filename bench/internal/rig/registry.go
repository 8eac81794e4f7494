package rig

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/schemas/registry"
)

// Registry is a schema registry on a broker's _schemas, in this process.
type Registry struct {
	URL string

	serving *http.Server
	stop    context.CancelFunc
	ended   chan error // why it no longer runs; two places, so that nobody waits to tell
}

// StartRegistry comes back when it answers.
func StartRegistry(ctx context.Context, brokers []string) (*Registry, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	server := registry.NewServer(registry.ServerConfig{Kafka: []kgo.Opt{kgo.SeedBrokers(brokers...)}, Timeout: time.Minute, Log: log})
	running, stop := context.WithCancel(ctx)
	r := &Registry{URL: "http://" + listener.Addr().String(), stop: stop, ended: make(chan error, 2),
		serving: &http.Server{Handler: server, ReadHeaderTimeout: 5 * time.Second}}
	go func() { r.ended <- server.Run(running) }()
	go func() {
		if err := r.serving.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			r.ended <- err
		}
	}()
	select {
	case <-server.Ready():
		return r, nil
	case err := <-r.ended:
		return nil, errors.Join(err, r.Close())
	}
}

// Close stops it.
func (r *Registry) Close() error {
	r.stop()
	return r.serving.Close()
}
