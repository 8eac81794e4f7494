package kafkaout

import (
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"taximeter/checkpoint"
	"taximeter/schemas"
)

// A broker that takes its time over offsets for lag tools does not hold up what is sent.
func TestNothingWaitsForCourtesy(t *testing.T) {
	w := newWorld(t)
	begun, end := make(chan struct{}), make(chan struct{})
	w.cluster.ControlKey(int16(kmsg.OffsetCommit), func(kmsg.Request) (kmsg.Response, error, bool) {
		close(begun)
		w.cluster.SleepControl(func() { <-end })
		return nil, nil, false
	})
	ctx, cancel := context.WithCancel(w.ctx())
	done := make(chan error, 1)
	go func() { done <- w.kafka.CommitOffsets(ctx, "g", ours3, [schemas.NumInputs]schemas.Offset{}) }()
	defer func() {
		cancel()
		close(end)
		t.Log("the courtesy:", <-done)
	}()
	<-begun
	// A client gives a request up after ten seconds.
	soon, stop := context.WithTimeout(w.ctx(), 8*time.Second)
	defer stop()
	p, err := w.kafka.OpenPublisher(soon, ours3)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for made := checkpoint.Number(1); made <= 2; made++ {
		if err := p.Publish(soon, made, outbox(made)); err != nil {
			t.Fatal(err)
		}
	}
}

// Partitions without a leader do not matter to the others of their topic.
func TestAPartitionIsReadBackThoughOthersOfItsTopicHaveNoLeader(t *testing.T) {
	w := newWorld(t)
	v := w.open(w.kafka)
	w.publish(v, 1, outbox(1))
	w.cluster.ControlKey(int16(kmsg.ListOffsets), func(r kmsg.Request) (kmsg.Response, error, bool) {
		w.cluster.KeepControl()
		request := r.(*kmsg.ListOffsetsRequest)
		response := request.ResponseKind().(*kmsg.ListOffsetsResponse)
		others := false
		for _, topic := range request.Topics {
			rt := kmsg.ListOffsetsResponseTopic{Topic: topic.Topic}
			for _, p := range topic.Partitions {
				others = others || p.Partition != int32(ours3)
				rt.Partitions = append(rt.Partitions, kmsg.ListOffsetsResponseTopicPartition{Partition: p.Partition, ErrorCode: kerr.LeaderNotAvailable.Code})
			}
			response.Topics = append(response.Topics, rt)
		}
		return response, nil, others
	})
	if made := w.marker(v); made != 1 {
		t.Errorf("marker %d", made)
	}
}
