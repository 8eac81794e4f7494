package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/bench/internal/load"
	"taximeter/bench/internal/oracle"
	"taximeter/bench/internal/rig"
	"taximeter/bench/internal/traffic"
	"taximeter/bench/internal/wide"
	"taximeter/cluster/node/embedded"
	"taximeter/schemas"
	"taximeter/schemas/avro"
	"taximeter/schemas/edge"
	"taximeter/schemas/registry"
)

// warmPrefix is before the names of the topics that a peer writes while it warms up.
const warmPrefix = "aquecimento."

// prepare fills a log, keeps it, and computes what must come out.
func (c *comparison) prepare(ctx context.Context) error {
	var err error
	if c.kafka, err = newKafka(c.java, c.libs, c.file("kafka")); err != nil {
		return err
	}
	err = c.withKafka(ctx, func() error {
		if err := errors.Join(c.createTopics(ctx), c.learnSchemas(ctx)); err != nil {
			return err
		}
		c.log, err = load.Preload(ctx, load.Options{Brokers: c.where.Brokers, Registry: c.where.Registry, Compression: c.compression,
			BatchBytes: 64 << 10, Linger: 200 * time.Millisecond}, c.cfg, c.file("events.jsonl"), c.file("tariffs.json"))
		return err
	})
	if err != nil {
		return err
	}
	if err := errors.Join(c.kafka.keep(), c.writeTariffs()); err != nil {
		return err
	}
	c.say("simulating: what must come out")
	if c.want, err = oracle.Simulate(ctx, oracle.Files{Taximeter: c.taximeter, Events: c.file("events.jsonl"), Tariffs: c.file("tariffs.json"),
		Partitions: int32(c.partitions), Out: c.file("simulated")}); err != nil {
		return err
	}
	if slices.ContainsFunc(c.chosen, func(s system) bool { return s.computes == windowsAlone }) {
		c.wantPlain = plainWindows(c.want, c.cfg)
	}
	return nil
}

// withKafka starts the broker with a registry, and stops both behind the work.
func (c *comparison) withKafka(ctx context.Context, work func() error) (err error) {
	if err := c.up(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.down()) }()
	return work()
}

func (c *comparison) up(ctx context.Context) (err error) {
	if err := c.kafka.start(ctx); err != nil {
		return err
	}
	if c.registry, err = rig.StartRegistry(ctx, []string{c.kafka.address}); err != nil {
		return errors.Join(err, c.kafka.stop())
	}
	c.where = rig.Where{Brokers: []string{c.kafka.address}, Registry: c.registry.URL}
	return nil
}

func (c *comparison) down() (err error) {
	if c.registry != nil {
		err = c.registry.Close()
		c.registry = nil
	}
	return errors.Join(err, c.kafka.stop())
}

// again gives a broker as it was before anything ran on it.
func (c *comparison) again(ctx context.Context) error {
	return errors.Join(c.down(), c.kafka.restore(), c.up(ctx))
}

func (c *comparison) createTopics(ctx context.Context) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(c.kafka.address))
	if err != nil {
		return err
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	if err := embedded.CreateTopics(ctx, admin, embedded.Options{Tasks: int32(c.partitions), Keep: embedded.KeepForever}); err != nil {
		return err
	}
	_, err = admin.CreateTopics(ctx, int32(c.partitions), 1, nil, warmPrefix+schemas.TopicWindows, warmPrefix+schemas.TopicPayments, warmPrefix+schemas.TopicDLQ)
	return err
}

// learnSchemas asks for the ids of the schemas that the peers read and write. The first
// write to a new broker waits until it has made its transaction log.
func (c *comparison) learnSchemas(ctx context.Context) error {
	client, err := registry.NewClient(registry.ClientConfig{URLs: []string{c.where.Registry}, Timeout: time.Minute})
	if err != nil {
		return err
	}
	input, err := wide.Register(ctx, client)
	if err != nil {
		return err
	}
	c.schemaIDs = map[string]int{"telemetria": input.ID(schemas.Telemetry), "eventos": input.ID(schemas.Rides), "pagamentos": input.ID(schemas.Payments)}
	for name, topic := range map[string]string{"agregado": schemas.TopicWindows, "fatura": schemas.TopicPayments} {
		contract, ok := avro.Of(topic)
		if !ok {
			return fmt.Errorf("topic %s has no contract", topic)
		}
		if c.schemaIDs[name], err = client.Register(ctx, contract.Subject(), contract.Schema); err != nil {
			return err
		}
	}
	return nil
}

// writeTariffs for the peers: a line each, amounts in micros.
func (c *comparison) writeTariffs() error {
	var text strings.Builder
	for _, t := range traffic.Tariffs(c.cfg.Start) {
		fmt.Fprintf(&text, "%s\t%s\t%s\t%d\t%s\t%d\t%d\t%d\t%d\t%d\t%d\n", t.TariffID, t.Region, t.Category, int64(t.ValidFrom), t.Currency,
			int64(t.Base), int64(t.PerKm), int64(t.PerMin), int64(t.Minimum), int64(t.CancelFee), t.GraceS)
	}
	return os.WriteFile(c.file("tariffs.tsv"), []byte(text.String()), 0o600)
}

// markEnds puts a position of a day later behind all others into each partition: Kafka
// Streams knows no end of its input, and closes a window only when something newer comes.
func (c *comparison) markEnds(ctx context.Context) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(c.kafka.address), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		return err
	}
	defer client.Close()
	schemaRegistry, err := registry.NewClient(registry.ClientConfig{URLs: []string{c.where.Registry}})
	if err != nil {
		return err
	}
	encoder, err := wide.Register(ctx, schemaRegistry)
	if err != nil {
		return err
	}
	at := c.cfg.Start.Add(30 * schemas.Day)
	for p := range c.partitions {
		id := fmt.Sprintf("00000000-0000-0000-0000-%012d", p)
		r, err := encoder.Record(&edge.Line{Topic: schemas.Telemetry, Key: []byte(id), AppendedAt: at,
			Telemetry: &schemas.TelemetryRecord{TripID: schemas.TripID(id), EventID: schemas.EventID(id), At: at, Lat: 1, Lon: 1}})
		if err != nil {
			return err
		}
		r.Partition = int32(p)
		if err := client.ProduceSync(ctx, r).FirstErr(); err != nil {
			return err
		}
	}
	return nil
}
