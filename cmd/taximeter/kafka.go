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

	"taximeter/cmd/internal/values"
	"taximeter/schemas/registry"
)

// reachTimeout is how long a broker or registry may take to answer at all.
const reachTimeout = 5 * time.Second

// remote is where Kafka and its schema registry are.
type remote struct {
	brokers  []string
	registry string
}

func (r *remote) flags(c *cobra.Command) {
	c.Flags().StringSliceVar(&r.brokers, "brokers", []string{"127.0.0.1:9092"}, "Kafka brokers, separated by commas")
	c.Flags().StringVar(&r.registry, "registry", "http://127.0.0.1:8081", "address of the schema registry")
}

// kafka connects to the brokers and makes sure that the topics are there, which it gives
// with their details. The caller closes the client.
func (r *remote) kafka(ctx context.Context, topics []string, opts ...kgo.Opt) (*kgo.Client, kadm.TopicDetails, error) {
	where := strings.Join(r.brokers, ",")
	client, err := kgo.NewClient(append(opts, kgo.SeedBrokers(r.brokers...))...)
	if err != nil {
		return nil, nil, usage(fmt.Errorf("brokers %s: %w; write --brokers HOST:PORT", where, err))
	}
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	if err := client.Ping(ctx); err != nil {
		client.Close()
		return nil, nil, fmt.Errorf("no Kafka broker answers at %s: %w; start one (`taximeter dev` has its own) or name it with --brokers", where, err)
	}
	details, err := kadm.NewClient(client).ListTopics(ctx, topics...)
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
	client, err := registry.NewClient(registry.ClientConfig{URLs: []string{r.registry}, Timeout: reachTimeout})
	if err != nil {
		return nil, usage(fmt.Errorf("not a registry's address: %q: %w; write --registry http://HOST:PORT", r.registry, err))
	}
	return client, nil
}

// noRegistry puts an error of the registry in the user's words.
func (r *remote) noRegistry(err error) error {
	if _, ok := errors.AsType[*values.RegistryError](err); ok {
		return fmt.Errorf("no schema registry answers at %s: %w; start one (`taximeter dev` has its own) or name it with --registry", r.registry, err)
	}
	return err
}
