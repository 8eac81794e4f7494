package rig

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/cluster/node/embedded"
	"taximeter/schemas/registry"
)

// BrokerSpec is an embedded broker in memory, with a registry.
type BrokerSpec struct {
	Partitions  int32
	AppendTimes embedded.AppendTimes
}

// Where is where a broker and its registry answer.
type Where struct {
	Brokers  []string
	Registry string
}

// StartBroker brings a broker up in a process of its own.
func StartBroker(ctx context.Context, s BrokerSpec) (*Process, Where, error) {
	p, err := Spawn(ctx, RoleBroker, s)
	if err != nil {
		return nil, Where{}, err
	}
	var at Where
	if err := p.Hear(&at); err != nil {
		return nil, Where{}, err
	}
	return p, at, nil
}

func serveBroker(ctx context.Context, s BrokerSpec, say *json.Encoder) (err error) {
	debug.SetGCPercent(25) // its heap is the log, and the log is large
	o := embedded.DefaultOptions()
	o.Tasks, o.AppendTimes, o.Keep = s.Partitions, s.AppendTimes, embedded.KeepForever
	broker, err := embedded.Start(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, broker.Close()) }()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	server := registry.NewServer(registry.ServerConfig{Kafka: []kgo.Opt{kgo.SeedBrokers(broker.Seeds()...)}, Log: log})
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 2)
	go func() { ended <- server.Run(running) }()
	serving := &http.Server{Handler: server, ReadHeaderTimeout: 5 * time.Second}
	go func() {
		if err := serving.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			ended <- err
		}
	}()
	defer func() { stop(); err = errors.Join(err, serving.Close()) }()
	select {
	case <-server.Ready():
	case err := <-ended:
		return err
	}
	if err := say.Encode(Where{Brokers: broker.Seeds(), Registry: "http://" + listener.Addr().String()}); err != nil {
		return err
	}
	select {
	case <-parentGone():
		return nil
	case err := <-ended:
		return err
	}
}
