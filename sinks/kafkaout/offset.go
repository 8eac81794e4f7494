package kafkaout

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"taximeter/schemas"
)

// Instants, beside Unix milliseconds, that name an end of a partition.
const (
	endOfLog   int64 = -1
	startOfLog int64 = -2
)

// bounds are where a partition's log begins and ends; the questions go out at once, for a partition may stand still
// until they are answered.
func (k *Kafka) bounds(ctx context.Context, topic string, p schemas.Partition) (start, end schemas.Offset, err error) {
	var asking sync.WaitGroup
	var failed error
	asking.Go(func() { start, failed = k.offset(ctx, topic, p, startOfLog) })
	end, err = k.offset(ctx, topic, p, endOfLog)
	asking.Wait()
	return start, end, cmp.Or(failed, err)
}

// offset is that of the first record of a partition at or after an instant; the end's when there is none.
//
// It asks about this partition alone: an answer for all of a topic fails with any that has no leader.
func (k *Kafka) offset(ctx context.Context, topic string, p schemas.Partition, at int64) (schemas.Offset, error) {
	request := kmsg.NewPtrListOffsetsRequest()
	rt, rp := kmsg.NewListOffsetsRequestTopic(), kmsg.NewListOffsetsRequestTopicPartition()
	rp.Partition, rp.Timestamp = int32(p), at
	rt.Topic, rt.Partitions = topic, append(rt.Partitions, rp)
	request.ReplicaID, request.Topics = -1, append(request.Topics, rt)
	response, err := request.RequestWith(ctx, k.client)
	if err != nil {
		return 0, fmt.Errorf("offset in %s/%d: %w", topic, p, err)
	}
	if len(response.Topics) != 1 || len(response.Topics[0].Partitions) != 1 {
		return 0, fmt.Errorf("offset in %s/%d: no answer", topic, p)
	}
	answer := response.Topics[0].Partitions[0]
	if err := kerr.ErrorForCode(answer.ErrorCode); err != nil {
		return 0, fmt.Errorf("offset in %s/%d: %w", topic, p, err)
	}
	if answer.Offset < 0 && at >= 0 {
		return k.offset(ctx, topic, p, endOfLog)
	}
	return schemas.Offset(answer.Offset), nil
}
