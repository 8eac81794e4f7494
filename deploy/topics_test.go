package deploy_test

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/actors/ingest"
	"taximeter/schemas"
	"taximeter/schemas/codec"
	"taximeter/schemas/registry"
	"taximeter/sinks/kafkaout"
)

type topic struct {
	partitions, replicas string
	configs              map[string]string
}

// created runs topics.sh with a tool that only notes how it is called.
func created(t *testing.T, variables ...string) map[string]topic {
	t.Helper()
	dir := t.TempDir()
	tool, calls := filepath.Join(dir, "kafka-topics"), filepath.Join(dir, "calls")
	if err := os.WriteFile(tool, []byte("#!/bin/sh\necho \"$*\" >>"+calls+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	run := exec.CommandContext(t.Context(), "/bin/sh", "topics.sh")
	run.Env = append([]string{"PATH=" + os.Getenv("PATH"), "KAFKA_TOPICS=" + tool}, variables...)
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	topics := map[string]topic{}
	for _, line := range strings.Split(strings.TrimSpace(read(t, calls)), "\n") {
		made, name := topic{configs: map[string]string{}}, ""
		words := strings.Fields(line)
		for i, word := range words[:len(words)-1] {
			switch value := words[i+1]; word {
			case "--topic":
				name = value
			case "--partitions":
				made.partitions = value
			case "--replication-factor":
				made.replicas = value
			case "--config":
				key, setting, _ := strings.Cut(value, "=")
				made.configs[key] = setting
			}
		}
		topics[name] = made
	}
	return topics
}

func TestTopicsAreTheContracts(t *testing.T) {
	const week, month = "604800000", "2592000000"
	kept := func(partitions, retention string, more ...string) topic {
		c := map[string]string{"cleanup.policy": "delete", "retention.ms": retention, "min.insync.replicas": "2"}
		for _, setting := range more {
			key, value, _ := strings.Cut(setting, "=")
			c[key] = value
		}
		return topic{partitions, "3", c}
	}
	compacted := func(partitions string, more ...string) topic {
		made := kept(partitions, "", more...)
		delete(made.configs, "retention.ms")
		made.configs["cleanup.policy"] = "compact"
		return made
	}
	want := map[string]topic{
		schemas.TopicTelemetry:   kept("24", week, "message.timestamp.type=LogAppendTime"),
		schemas.TopicRides:       kept("24", week, "message.timestamp.type=LogAppendTime"),
		schemas.TopicPayments:    kept("24", week, "message.timestamp.type=LogAppendTime"),
		schemas.TopicAlerts:      kept("24", week),
		schemas.TopicWindows:     kept("24", week),
		schemas.TopicDLQ:         kept("24", month),
		schemas.TopicUndelivered: kept("1", month),
		schemas.TopicRequeues:    kept("1", "3888000000"),
		schemas.TopicRules:       compacted("1"),
		schemas.TopicTariffs:     compacted("1"),
		schemas.TopicCommits:     compacted("24", "segment.ms=3600000", "min.cleanable.dirty.ratio=0.01"),
		schemas.TopicAlertIDs:    kept("24", week),
	}
	got := created(t)
	for name, w := range want {
		if g := got[name]; g.partitions != w.partitions || g.replicas != w.replicas || !maps.Equal(g.configs, w.configs) {
			t.Errorf("%s:\n got %v\nwant %v", name, g, w)
		}
		delete(got, name)
	}
	for name := range got {
		t.Errorf("%s is not in the contract", name)
	}
}

// A node must take the topics as they were made, and find nothing to make itself.
func TestNodeTakesTheTopics(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	client, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	topics := created(t, "PARTITIONS=3", "REPLICAS=1")
	for name, made := range topics {
		partitions, err := strconv.ParseInt(made.partitions, 10, 32)
		if err != nil {
			t.Fatal(err)
		}
		configs := map[string]*string{}
		for key, value := range made.configs {
			configs[key] = &value
		}
		if _, err := admin.CreateTopic(ctx, int32(partitions), 1, configs, name); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	source, err := ingest.New(ingest.Options{Client: []kgo.Opt{kgo.SeedBrokers(cluster.ListenAddrs()...)}, Namespace: "ns", Decoder: codec.NewDecoder(),
		Registry: unused(t), AppendTimes: ingest.AppendTimesFromBroker, OnFault: func(err error) { t.Error(err) }})
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	topology, err := source.CheckTopics(ctx)
	if err != nil || topology.Partitions != 3 {
		t.Errorf("inputs: %v, %d partitions", err, topology.Partitions)
	}
	out, err := kafkaout.New(kafkaout.Options{Client: []kgo.Opt{kgo.SeedBrokers(cluster.ListenAddrs()...)}, Namespace: "ns", Schemas: kafkaout.SchemaIDs{Payment: 1, Window: 2, Alert: 3}})
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if err := out.EnsureTopics(ctx, 3); err != nil {
		t.Errorf("outputs: %v", err)
	}
	have, err := admin.ListTopics(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for name := range have {
		if _, ok := topics[name]; !ok {
			t.Errorf("the node had to make %s itself", name)
		}
	}
}

// unused is a registry that nobody is going to ask.
func unused(t *testing.T) *registry.Client {
	t.Helper()
	c, err := registry.NewClient(registry.ClientConfig{URLs: []string{"http://127.0.0.1:1"}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
