package kafkaout

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
)

// heldPatience bounds asking who holds a partition back: it only makes an error plainer.
const heldPatience = 5 * time.Second

// held says whose open transaction keeps committed readers of a partition from an offset; empty
// when none does, or nobody can tell.
func (k *Kafka) held(ctx context.Context, topic string, p int32, offset int64) string {
	if errors.Is(ctx.Err(), context.Canceled) {
		return "" // nobody waits for it
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), heldPatience)
	defer cancel()
	var partitions kadm.TopicsSet
	partitions.Add(topic, p)
	described, err := k.admin.DescribeProducers(ctx, partitions)
	if err != nil {
		return ""
	}
	for _, of := range described {
		for _, producers := range of.Partitions {
			for _, d := range producers.ActiveProducers.Sorted() {
				if start := d.CurrentTxnStartOffset; start >= 0 && start <= offset {
					return fmt.Sprintf("; a transaction of producer %d (epoch %d, last heard of %s), open since offset %d, holds it back; see \"A transaction that Kafka did not end\" in operations.md",
						d.ProducerID, d.ProducerEpoch, time.UnixMilli(d.LastTimestamp).UTC().Format(time.RFC3339), start)
				}
			}
		}
	}
	return ""
}
