package embedded

import (
	"context"
	"fmt"
	"strconv"

	"github.com/twmb/franz-go/pkg/kadm"

	"taximeter/internal/topics"
	"taximeter/schemas"
)

const day = 24 * 60 * 60 * 1000 // milliseconds

// segmentBytes is small because the broker trims whole segments only.
const segmentBytes = 16 << 20

type topic struct {
	name       string
	partitions int32 // 0 = as many as there are tasks
	retention  int   // milliseconds; 0 = compacted
}

// contract is its table of topics.
var contract = []topic{
	{schemas.TopicTelemetry, 0, 7 * day},
	{schemas.TopicRides, 0, 7 * day},
	{schemas.TopicPayments, 0, 7 * day},
	{schemas.TopicAlerts, 0, 7 * day},
	{schemas.TopicUndelivered, 1, 30 * day},
	{schemas.TopicWindows, 0, 7 * day},
	{schemas.TopicDLQ, 0, 30 * day},
	{schemas.TopicAlertIDs, 0, 7 * day},
	{schemas.TopicCommits, 0, 0},
	{schemas.TopicRequeues, 1, 45 * day},
	{schemas.TopicRules, 1, 0},
	{schemas.TopicTariffs, 1, 0},
	{schemas.TopicSchemas, 1, 0},
}

// CreateTopics creates what is missing of the contract's topics, on any broker, and refuses
// a kept log of another partition count.
func CreateTopics(ctx context.Context, admin *kadm.Client, o Options) error {
	for _, t := range contract {
		want := t.partitions
		if want == 0 {
			want = o.Tasks
		}
		configs := map[string]string{"segment.bytes": strconv.Itoa(segmentBytes)}
		if t.retention == 0 {
			configs["cleanup.policy"] = "compact"
		} else {
			configs["cleanup.policy"] = "delete"
			retention := t.retention
			if o.Keep == KeepForever {
				retention = -1
			}
			configs["retention.ms"] = strconv.Itoa(retention)
			if o.RetentionBytes > 0 {
				configs["retention.bytes"] = strconv.FormatInt(o.RetentionBytes, 10)
			}
		}
		have, err := topics.Ensure(ctx, admin, topics.Topic{Name: t.name, Partitions: want, Replicas: 1, Configs: configs})
		if err != nil {
			return fmt.Errorf("embedded broker: %w", err)
		}
		if n := int32(len(have.Partitions)); n != want {
			return fmt.Errorf("embedded broker: %s was created with %d partitions and %d are asked for: "+
				"ask for %d, or start with an empty data folder", t.name, n, want, n)
		}
	}
	return nil
}
