package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"taximeter/cmd/internal/world"
)

func newBroker() *cobra.Command {
	o := world.Options{KafkaPort: 9092, RegistryPort: 8081, Partitions: 24}
	var verbose bool
	c := &cobra.Command{
		Use:   "broker",
		Short: "Run only the embedded broker and schema registry",
		Long: `Run the embedded Kafka broker and schema registry of 'taximeter dev' without a node: to try
several nodes on one machine. It is for trying, not for production: one broker, one copy,
the timestamps of producers taken for append times.`,
		Example: `  taximeter broker --data data/broker
  TAXIMETER_NODE_ID=a taximeter node --append-times records`,
		Args: arguments("nothing", 0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			o.Log = devLog(c, verbose)
			w, err := world.Start(c.Context(), o)
			if err != nil {
				return err
			}
			fmt.Fprintf(c.OutOrStdout(), "broker %v, registry %s; Ctrl-C stops them\n", w.Brokers(), w.RegistryURL())
			<-c.Context().Done()
			return w.Close()
		},
	}
	f := c.Flags()
	f.StringVar(&o.Dir, "data", "", "folder of the broker's log; empty = in memory")
	f.IntVar(&o.KafkaPort, "kafka-port", o.KafkaPort, "port of the broker; 0 = any free one")
	f.IntVar(&o.RegistryPort, "registry-port", o.RegistryPort, "port of the schema registry; 0 = any free one")
	f.IntVar(&o.Partitions, "partitions", o.Partitions, "partitions of the input topics, when they are made")
	f.BoolVar(&verbose, "verbose", false, "log what the parts do")
	return c
}
