package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/actors/ingest"
	"taximeter/bench/internal/rig"
	"taximeter/bench/internal/traffic"
	"taximeter/schemas"
	"taximeter/schemas/edge"
)

// outputs says what a system computes, and so by which oracle it is checked.
type outputs int

const (
	nothing      outputs = iota
	windowsAlone         // of a form that sees one window at a time
	billsToo             // all windows and bills
)

// system is one that is compared.
type system struct {
	name     string
	computes outputs
	run      func(context.Context, *comparison) (measure, error)
}

// Names of taximeter, by which the ratios count.
const (
	ours              = "taximeter"
	oursWithoutAlerts = ours + "-no-alerts"
)

var systems = []system{
	{"consumer", nothing, runBare},
	{ours, billsToo, taximeter(asPreloaded)},
	{oursWithoutAlerts, billsToo, taximeter(withoutRules)}, // what the peers compute
	{"flink-tuned-rocksdb", billsToo, flink("tuned", "rocksdb")},
	{"flink-tuned-heap", billsToo, flink("tuned", "hashmap")},
	{"flink-plain-rocksdb", windowsAlone, flink("plain", "rocksdb")},
	{"flink-plain-heap", windowsAlone, flink("plain", "hashmap")},
	{"streams-tuned", billsToo, streams("tuned")},
	{"streams-plain", windowsAlone, streams("plain")},
}

func runBare(ctx context.Context, c *comparison) (m measure, err error) {
	b, err := rig.RunBare(ctx, rig.BareSpec{Where: c.where, Ends: c.log.Ends})
	if err == nil && b.Records != c.log.Counts.Records {
		err = fmt.Errorf("the bare consumer saw %d of %d records", b.Records, c.log.Counts.Records)
	}
	return measure{cpu: b.CPU(), wall: b.Wall}, err
}

// taximeter runs as the peers do: in a process that has processed the log once already, on a
// broker that has not seen it yet. prepare is what the broker lacks.
func taximeter(prepare func(context.Context, *comparison) error) func(context.Context, *comparison) (measure, error) {
	return func(ctx context.Context, c *comparison) (m measure, err error) {
		if err := prepare(ctx, c); err != nil {
			return m, err
		}
		spec := rig.ProcessorSpec{Where: c.where, Dir: c.file("run"), AppendTimes: ingest.AppendTimesFromRecords, Checkpoint: c.checkpoint}
		p, err := c.replay(ctx, spec, prepare)
		if err == nil && p.Records != c.log.Counts.Records {
			err = fmt.Errorf("%d of %d records got a verdict", p.Records, c.log.Counts.Records)
		}
		return measure{p.CPU(), p.Wall, p.PeakRSS}, err
	}
}

func (c *comparison) replay(ctx context.Context, spec rig.ProcessorSpec, prepare func(context.Context, *comparison) error) (p rig.Processed, err error) {
	if c.warm == 0 {
		return rig.RunProcessor(ctx, spec)
	}
	warm, err := rig.WarmProcessor(ctx, spec)
	if err != nil {
		return p, err
	}
	// Its results lie on topics that it also reads, so the next run needs the log as it was.
	if err := c.again(ctx); err != nil {
		return p, errors.Join(err, warm.Stop())
	}
	if err := prepare(ctx, c); err != nil {
		return p, errors.Join(err, warm.Stop())
	}
	return warm.Run(c.where)
}

func asPreloaded(context.Context, *comparison) error { return nil }

// withoutRules withdraws them.
func withoutRules(ctx context.Context, c *comparison) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(c.kafka.address))
	if err != nil {
		return err
	}
	defer client.Close()
	rules := traffic.Rules(c.cfg.Start)
	for i := range rules {
		tombstone := &kgo.Record{Topic: schemas.TopicRules, Key: []byte(edge.RuleKey(&rules[i]))}
		if err := client.ProduceSync(ctx, tombstone).FirstErr(); err != nil {
			return fmt.Errorf("withdraw rule %s: %w", rules[i].RuleID, err)
		}
	}
	return nil
}

func flink(form, backend string) func(context.Context, *comparison) (measure, error) {
	return func(ctx context.Context, c *comparison) (measure, error) {
		settings := c.settings(form)
		settings["backend"], settings["managed"] = backend, "1g"
		if backend == "hashmap" {
			settings["managed"] = "0" // the heap is its state
		}
		return runPeer(ctx, c.java, c.heap, "flink", settings)
	}
}

func streams(form string) func(context.Context, *comparison) (measure, error) {
	return func(ctx context.Context, c *comparison) (measure, error) {
		if err := c.markEnds(ctx); err != nil {
			return measure{}, err
		}
		settings := c.settings(form)
		settings["cache"], settings["partitions"] = fmt.Sprint(512<<20), fmt.Sprint(c.partitions)
		return runPeer(ctx, c.java, c.heap, "streams", settings)
	}
}

// settings that all peers have.
func (c *comparison) settings(form string) map[string]string {
	s := map[string]string{"form": form, "brokers": c.kafka.address, "dir": c.file("run"), "tariffs": c.file("tariffs.tsv"),
		"warm": fmt.Sprint(int(c.warm.Seconds())), "checkpoint": fmt.Sprint(c.checkpoint.Milliseconds())}
	for name, id := range c.schemaIDs {
		s[name] = fmt.Sprint(id)
	}
	return s
}
