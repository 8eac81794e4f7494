package kafkaout

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"taximeter/internal/topics"
	"taximeter/schemas"
)

// ours are the topics that taximeter creates for itself.
var ours = map[string]map[string]string{
	schemas.TopicCommits: {
		"cleanup.policy": "compact",
		// A reader goes through all that compaction left: let it run soon and often.
		"segment.ms": "3600000", "min.cleanable.dirty.ratio": "0.01",
	},
	schemas.TopicAlertIDs: {"cleanup.policy": "delete", "retention.ms": "604800000"}, // as long as the inputs
}

// outputs are the topics of the contract that must be there.
var outputs = []string{schemas.TopicAlerts, schemas.TopicWindows, schemas.TopicDLQ}

// EnsureTopics creates the marker topics if they are absent, and reports all that is wrong
// with them and with the output topics. tasks is the partition count of the inputs.
func (k *Kafka) EnsureTopics(ctx context.Context, tasks int32) error {
	have, err := k.admin.ListTopicsWithInternal(ctx)
	if err != nil {
		return fmt.Errorf("list the output topics: %w", err)
	}
	var faults []error
	for name, configs := range ours {
		if d, ok := have[name]; !ok || errors.Is(d.Err, kerr.UnknownTopicOrPartition) {
			faults = append(faults, k.create(ctx, name, tasks, configs))
			continue
		}
		faults = append(faults, enough(have, name, tasks), k.checkCleanup(ctx, name, configs["cleanup.policy"]))
	}
	for _, name := range outputs {
		if name == schemas.TopicAlerts {
			faults = append(faults, enough(have, name, 1)) // placed by region
			continue
		}
		faults = append(faults, enough(have, name, tasks))
	}
	return errors.Join(faults...)
}

// create replicates threefold where there are three brokers.
func (k *Kafka) create(ctx context.Context, name string, tasks int32, configs map[string]string) error {
	brokers, err := k.admin.ListBrokers(ctx)
	if err != nil {
		return fmt.Errorf("create topic %s: %w", name, err)
	}
	replicas := min(len(brokers), 3)
	all := maps.Clone(configs)
	if replicas == 3 {
		all["min.insync.replicas"] = "2"
	}
	_, err = topics.Ensure(ctx, k.admin, topics.Topic{Name: name, Partitions: tasks, Replicas: int16(replicas), Configs: all})
	return err
}

// enough reports a topic that lacks the partition of some task.
func enough(have kadm.TopicDetails, name string, tasks int32) error {
	d, ok := have[name]
	switch n := int32(len(d.Partitions)); {
	case !ok:
		return fmt.Errorf("topic %s is missing: create it with %d partitions", name, tasks)
	case d.Err != nil:
		return fmt.Errorf("topic %s: %w", name, d.Err)
	case n < tasks:
		return fmt.Errorf("topic %s has %d partitions, and the input topics have %d: add partitions until it has as many", name, n, tasks)
	}
	return nil
}

// checkCleanup matters for money: markers deleted by age would make us publish again.
func (k *Kafka) checkCleanup(ctx context.Context, name, want string) error {
	configs, err := k.admin.DescribeTopicConfigs(ctx, name)
	if err != nil {
		return fmt.Errorf("describe topic %s: %w", name, err)
	}
	for _, c := range configs {
		if c.Err != nil {
			return fmt.Errorf("describe topic %s: %w", name, c.Err)
		}
		for _, kv := range c.Configs {
			if kv.Key == "cleanup.policy" && strings.TrimSpace(kv.MaybeValue()) != want {
				return fmt.Errorf("topic %s has cleanup.policy=%s: set it to %s, or what is published once may be published again", name, kv.MaybeValue(), want)
			}
		}
	}
	return nil
}
