// Package topics makes the topics that the program keeps for itself.
package topics

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// Topic is one as it should be made.
type Topic struct {
	Name       string
	Partitions int32 // -1 = as the cluster is set
	Replicas   int16 // -1 = as the cluster is set
	Configs    map[string]string
}

const (
	// known bounds the wait for a broker to hear of a topic; it takes milliseconds.
	known = 30 * time.Second

	again = 50 * time.Millisecond
)

// Ensure makes a topic where there is none, by whomever it is made, and returns it as the
// brokers know it. Kafka's controller answers before its brokers have heard: who asks one of
// them at once may be told that there is no such topic, so this waits until they know.
func Ensure(ctx context.Context, admin *kadm.Client, t Topic) (kadm.TopicDetail, error) {
	configs := make(map[string]*string, len(t.Configs))
	for key, value := range t.Configs {
		configs[key] = kadm.StringPtr(value)
	}
	_, err := admin.CreateTopic(ctx, t.Partitions, t.Replicas, configs, t.Name)
	if err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
		return kadm.TopicDetail{}, fmt.Errorf("create topic %s: %w", t.Name, err)
	}
	ctx, cancel := context.WithTimeout(kadm.WithAuthorizedOps(ctx), known) // so asked, the client does not answer from its own memory
	defer cancel()
	for {
		have, err := admin.ListTopics(ctx, t.Name)
		if err == nil {
			err = have.Error()
		}
		if err == nil {
			return have[t.Name], nil
		}
		if !errors.Is(err, kerr.UnknownTopicOrPartition) {
			return kadm.TopicDetail{}, fmt.Errorf("look at topic %s: %w", t.Name, err)
		}
		select {
		case <-ctx.Done():
			return kadm.TopicDetail{}, fmt.Errorf("topic %s is made, and no broker knows it: %w", t.Name, err)
		case <-time.After(again):
		}
	}
}
