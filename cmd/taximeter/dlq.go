package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"taximeter/cmd/internal/letters"
	"taximeter/schemas"
)

func newDLQ() *cobra.Command {
	return group(&cobra.Command{
		Use:   "dlq",
		Short: "Look at the dead letters, report them, send them again",
		Long: `Look at the dead letters, records that could not be taken, count and report them, and
after a mend send them to the meter again. docs/dead-letters.md tells what to do for each
reason.`,
	}, newDLQList(), newDLQShow(), newDLQStats(), newDLQReport(), newDLQRequeue())
}

// letterFlags select letters.
type letterFlags struct {
	from            remote
	reasons, topics []string
	since, until    string
	filter          letters.Filter
}

// register adds the flags; since is how far back they look by themselves.
func (o *letterFlags) register(c *cobra.Command, since string) {
	o.from.flags(c)
	f := c.Flags()
	f.StringSliceVar(&o.reasons, "reason", nil, "only of these reasons, such as relogio_adiantado")
	f.StringSliceVar(&o.topics, "topic", nil, "only from these input topics")
	f.StringVar(&o.since, "since", since, "published since: a day, an instant, or how long ago")
	f.StringVar(&o.until, "until", "", "published before")
	f.StringVar(&o.filter.Trip, "trip", "", "only of this trip")
	f.StringVar(&o.filter.Device, "device", "", "only where `dispositivo` begins so: the device, and its version where producers write it there")
	f.IntVar(&o.filter.Schema, "schema", 0, "only by this writer's schema id: tells producers' versions apart")
}

// open checks the flags and that the broker and its topic are there.
func (o *letterFlags) open(ctx context.Context) (*letters.Desk, error) {
	now := time.Now()
	for _, word := range o.reasons {
		var v schemas.Verdict
		if err := v.UnmarshalText([]byte("dlq:" + strings.TrimPrefix(word, "dlq:"))); err != nil {
			return nil, usage(fmt.Errorf("--reason %q; the reasons are %s", word, strings.Join(reasons(), ", ")))
		}
		o.filter.Reasons = append(o.filter.Reasons, v)
	}
	for _, name := range o.topics {
		if _, ok := schemas.InputTopic(name); !ok {
			return nil, usage(fmt.Errorf("--topic %q is none of the input topics; give one of %v", name, schemas.Inputs))
		}
	}
	o.filter.Topics = o.topics
	var err error
	if o.since != "" {
		if o.filter.Since, err = when("since", o.since, now); err != nil {
			return nil, err
		}
	}
	if o.until != "" {
		if o.filter.Until, err = when("until", o.until, now); err != nil {
			return nil, err
		}
	}
	return openDesk(ctx, &o.from)
}

func openDesk(ctx context.Context, from *remote) (*letters.Desk, error) {
	schemaClient, err := from.schemas()
	if err != nil {
		return nil, err
	}
	client, _, err := from.kafka(ctx, []string{schemas.TopicDLQ})
	if err != nil {
		return nil, err
	}
	client.Close()
	return letters.NewDesk(from.Kafka, schemaClient), nil
}

// reasons are the words of --reason.
func reasons() (all []string) {
	for v := range schemas.NumVerdicts {
		if v.DeadLetter() {
			all = append(all, strings.TrimPrefix(v.String(), "dlq:"))
		}
	}
	return all
}
