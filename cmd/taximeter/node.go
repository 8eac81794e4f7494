package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"taximeter/actors/ingest"
	"taximeter/cluster/admin"
	"taximeter/cluster/node"
	"taximeter/cmd/internal/ui"
)

// nodeStopTimeout is how long the end of a node may take to commit and publish what there is.
const nodeStopTimeout = 30 * time.Second

// appendTimes are the words of --append-times.
var appendTimes = map[string]ingest.AppendTimes{"broker": ingest.AppendTimesFromBroker, "records": ingest.AppendTimesFromRecords}

func newNode() *cobra.Command {
	var config, times string
	var replay, verbose, asJSON bool
	c := &cobra.Command{
		Use:   "node",
		Short: "Run a node against a Kafka cluster, a schema registry and a checkpoint store",
		Long: `Run a node until SIGTERM, Ctrl-C or "node drain"; it then hands its partitions to other nodes,
or alone commits and publishes what there is.

The configuration is a YAML file, over it TAXIMETER_* variables such as
TAXIMETER_KAFKA_BROKERS; whatever neither names has a default that works against a local
Kafka and registry. With --replay the node consumes what the input topics hold now, by
event time alone, bills everything and ends.`,
		Example: `  taximeter node --config taximeter.yaml
  TAXIMETER_KAFKA_BROKERS=kafka:9092 taximeter node --replay --json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := node.Load(config)
			if err == nil {
				err = cfg.Validate()
			}
			if err != nil {
				return usage(err)
			}
			o := node.Options{Log: devLog(c, verbose)}
			var ok bool
			if o.AppendTimes, ok = appendTimes[times]; !ok {
				return usage(fmt.Errorf("--append-times %q: give broker or records", times))
			}
			if replay {
				o.Mode = node.Replay
			}
			if err := inject(&o, cfg); err != nil {
				return usage(err)
			}
			say := c.OutOrStdout()
			if asJSON {
				say = c.ErrOrStderr()
			}
			partitions, err := runNode(c.Context(), cfg, o, say)
			if err != nil || !replay {
				return err
			}
			if asJSON {
				return json.NewEncoder(c.OutOrStdout()).Encode(partitions)
			}
			printVerdicts(c.OutOrStdout(), partitions)
			return nil
		},
	}
	f := c.Flags()
	f.StringVar(&config, "config", "", "YAML file of the configuration")
	f.BoolVar(&replay, "replay", false, "consume what the input topics hold now, bill it all and end")
	f.StringVar(&times, "append-times", "broker", "whose timestamps on the input records are append times: broker (LogAppendTime), or records for replays of recordings")
	f.BoolVar(&verbose, "verbose", false, "log what the parts do")
	f.BoolVar(&asJSON, "json", false, "with --replay: print where every partition stands as JSON")
	c.AddCommand(newNodeDrain())
	return c
}

// runNode runs a node until ctx ends or, in a replay, all is done, and tells where its
// partitions then stood.
func runNode(ctx context.Context, cfg node.Config, o node.Options, say io.Writer) ([]admin.PartitionStatus, error) {
	began := time.Now()
	n, err := node.Start(ctx, cfg, o)
	switch {
	case err == nil:
	case o.Mode == node.Live && errors.Is(ctx.Err(), context.Canceled) && errors.Is(err, context.Canceled):
		fmt.Fprintln(say, "stopped before it was up")
		return nil, nil
	default:
		return nil, err
	}
	select {
	case <-n.DrainAsked(): // perhaps before it was up
	default:
		fmt.Fprintf(say, "node %s is up after %.1f s, admin %s\n", cfg.NodeID, time.Since(began).Seconds(), n.AdminURL())
	}
	var failed error
	if o.Mode == node.Replay {
		failed = replayed(ctx, n)
	} else {
		select {
		case <-ctx.Done():
			fmt.Fprintln(say, "stopping: committing and publishing what there is")
		case <-n.DrainAsked():
			fmt.Fprintln(say, "asked to drain: handing over, committing and publishing what there is")
		case <-n.Replaced():
		}
	}
	partitions := n.Partitions()
	stopping, cancel := context.WithTimeout(context.Background(), nodeStopTimeout)
	defer cancel()
	if err := n.Stop(stopping); failed == nil || errors.Is(failed, context.Canceled) || errors.Is(failed, errNotReplayed) {
		failed = errors.Join(failed, err)
	}
	return partitions, failed
}

// replayed waits until a replay is done, or somebody asks the node to drain.
func replayed(ctx context.Context, n *node.Node) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- n.Done(ctx) }()
	select {
	case err := <-done:
		return err
	case <-n.DrainAsked():
	}
	cancel()
	if <-done == nil {
		return nil
	}
	return errNotReplayed
}

var errNotReplayed = errors.New("asked to drain before the replay was done: start it again, and it goes on from where it was")

func printVerdicts(w io.Writer, partitions []admin.PartitionStatus) {
	total := int64(0)
	for _, p := range partitions {
		for _, n := range p.Verdicts {
			total += n
		}
	}
	fmt.Fprintf(w, "%s records of %d partitions consumed, committed and published\n", ui.Count(total), len(partitions))
}
