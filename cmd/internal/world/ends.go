package world

import (
	"context"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/schemas"
)

// endOffsets of every partition of the input topics.
func endOffsets(ctx context.Context, client *kgo.Client) ([]int64, error) {
	listed, err := kadm.NewClient(client).ListEndOffsets(ctx, schemas.TopicTelemetry, schemas.TopicRides, schemas.TopicPayments)
	if err == nil {
		err = listed.Error()
	}
	var ends []int64
	listed.Each(func(o kadm.ListedOffset) { ends = append(ends, o.Offset) })
	return ends, err
}
