package topics

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestATopicThatBrokersHearOfLateIsWaitedFor(t *testing.T) {
	for name, there := range map[string]bool{"made by us": false, "made by another": true} {
		t.Run(name, func(t *testing.T) {
			kafka, admin := cluster(t)
			if there {
				if _, err := admin.CreateTopic(t.Context(), 3, 1, nil, "ours"); err != nil {
					t.Fatal(err)
				}
			}
			left := 3
			kafka.ControlKey(int16(kmsg.Metadata), func(req kmsg.Request) (kmsg.Response, error, bool) {
				kafka.KeepControl()
				asked := req.(*kmsg.MetadataRequest).Topics
				if left == 0 || len(asked) == 0 {
					return nil, nil, false
				}
				left--
				answer := req.ResponseKind().(*kmsg.MetadataResponse)
				topic := kmsg.NewMetadataResponseTopic()
				topic.Topic, topic.ErrorCode = asked[0].Topic, kerr.UnknownTopicOrPartition.Code
				answer.Topics = append(answer.Topics, topic)
				return answer, nil, true
			})
			got, err := Ensure(t.Context(), admin, Topic{Name: "ours", Partitions: 3, Replicas: 1})
			if err != nil || len(got.Partitions) != 3 || left != 0 {
				t.Errorf("%d partitions, %d answers left: %v", len(got.Partitions), left, err)
			}
		})
	}
}

func TestATopicThatCannotBeMadeSaysWhy(t *testing.T) {
	_, admin := cluster(t)
	_, err := Ensure(t.Context(), admin, Topic{Name: "ours", Partitions: 1, Replicas: 3})
	if err == nil || !strings.Contains(err.Error(), "create topic ours") {
		t.Error(err)
	}
}

func cluster(t *testing.T) (*kfake.Cluster, *kadm.Client) {
	t.Helper()
	kafka, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(kafka.Close)
	client, err := kgo.NewClient(kgo.SeedBrokers(kafka.ListenAddrs()...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return kafka, kadm.NewClient(client)
}
