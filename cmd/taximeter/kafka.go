package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/cluster/node"
	"taximeter/cmd/internal/values"
	"taximeter/internal/access"
	"taximeter/schemas/registry"
)

// reachTimeout is how long a broker or registry may take to answer at all.
const reachTimeout = 5 * time.Second

// remote is where Kafka and its schema registry are, and who we are to them: as a node's
// configuration has it, with the addresses that flags give.
type remote struct {
	config   string
	brokers  []string
	registry string

	// Once open was called.
	access.Kafka
	Registry access.Registry
}

func (r *remote) flags(c *cobra.Command) {
	c.Flags().StringVar(&r.config, "config", "", "YAML file of a node's configuration: its kafka and registry settings hold, and TAXIMETER_* variables over them")
	c.Flags().StringSliceVar(&r.brokers, "brokers", nil, "Kafka brokers, separated by commas (default those of the configuration, else 127.0.0.1:9092)")
	c.Flags().StringVar(&r.registry, "registry", "", "address of the schema registry (default that of the configuration, else http://127.0.0.1:8081)")
}

// open lays the flags over the configuration. Called again, it does nothing.
func (r *remote) open() error {
	if r.Brokers != nil {
		return nil
	}
	cfg, err := node.Load(r.config)
	if err != nil {
		return usage(err)
	}
	return r.settle(cfg)
}

// remoteOf is that of a configuration, but for brokers that are given.
func remoteOf(cfg node.Config, brokers []string) (*remote, error) {
	r := &remote{brokers: brokers}
	return r, r.settle(cfg)
}

func (r *remote) settle(cfg node.Config) error {
	r.Kafka, r.Registry = cfg.Kafka, cfg.Registry
	if len(r.brokers) > 0 {
		r.Brokers = r.brokers
	}
	if r.registry != "" {
		r.Registry.URL = r.registry
	}
	if faults := append(r.Kafka.Faults(), r.Registry.Faults()...); len(faults) > 0 {
		return usage(fmt.Errorf("%s\nwrite --brokers HOST:PORT, --registry http://HOST:PORT, or mend the configuration", strings.Join(faults, "\n")))
	}
	return nil
}

// kafka connects to the brokers and makes sure that the topics are there, which it gives
// with their details. The caller closes the client.
func (r *remote) kafka(ctx context.Context, topics []string, opts ...kgo.Opt) (*kgo.Client, kadm.TopicDetails, error) {
	if err := r.open(); err != nil {
		return nil, nil, err
	}
	where := strings.Join(r.Brokers, ",")
	client, err := r.Client(opts...)
	if err != nil {
		return nil, nil, usage(fmt.Errorf("brokers %s: %w; write --brokers HOST:PORT", where, err))
	}
	within, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	if err := client.Ping(within); err != nil {
		client.Close()
		if refused := r.Check(ctx); refused != nil {
			return nil, nil, refused
		}
		return nil, nil, fmt.Errorf("no Kafka broker answers at %s: %w; start one (`taximeter dev` has its own) or name it with --brokers", where, err)
	}
	details, err := kadm.NewClient(client).ListTopics(within, topics...)
	for _, topic := range topics {
		if d := details[topic]; err == nil && d.Err != nil {
			err = fmt.Errorf("topic %s: %w", topic, d.Err)
		}
	}
	if err != nil {
		client.Close()
		return nil, nil, fmt.Errorf("brokers %s: %w; create the contract's topics there, or name other brokers with --brokers", where, err)
	}
	return client, details, nil
}

func (r *remote) schemas() (*registry.Client, error) {
	if err := r.open(); err != nil {
		return nil, err
	}
	return r.Registry.Client(reachTimeout)
}

// noRegistry puts an error of the registry in the user's words.
func (r *remote) noRegistry(err error) error {
	if mend := r.Registry.Mend(err); mend != "" {
		return fmt.Errorf("schema registry %s: %w; %s", access.Redacted(r.Registry.URL), err, mend)
	}
	if _, ok := errors.AsType[*values.RegistryError](err); ok {
		return fmt.Errorf("no schema registry answers at %s: %w; start one (`taximeter dev` has its own) or name it with --registry", access.Redacted(r.Registry.URL), err)
	}
	return err
}
