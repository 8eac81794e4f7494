package embedded

import (
	"context"
	"fmt"
	"strconv"

	"github.com/twmb/franz-go/pkg/kadm"

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

// topics is the contract's table.
var topics = []topic{
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
	have, err := admin.ListTopicsWithInternal(ctx)
	if err != nil {
		return fmt.Errorf("list topics of the embedded broker: %w", err)
	}
	for _, t := range topics {
		want := t.partitions
		if want == 0 {
			want = o.Tasks
		}
		if d, ok := have[t.name]; ok && d.Err == nil {
			if n := int32(len(d.Partitions)); n != want {
				return fmt.Errorf("embedded broker: %s was created with %d partitions and %d are asked for: "+
					"ask for %d, or start with an empty data folder", t.name, n, want, n)
			}
			continue
		}
		configs := map[string]*string{"segment.bytes": kadm.StringPtr(strconv.Itoa(segmentBytes))}
		if t.retention == 0 {
			configs["cleanup.policy"] = kadm.StringPtr("compact")
		} else {
			configs["cleanup.policy"] = kadm.StringPtr("delete")
			retention := t.retention
			if o.Keep == KeepForever {
				retention = -1
			}
			configs["retention.ms"] = kadm.StringPtr(strconv.Itoa(retention))
			if o.RetentionBytes > 0 {
				configs["retention.bytes"] = kadm.StringPtr(strconv.FormatInt(o.RetentionBytes, 10))
			}
		}
		if _, err := admin.CreateTopic(ctx, want, 1, configs, t.name); err != nil {
			return fmt.Errorf("create topic %s on the embedded broker: %w", t.name, err)
		}
	}
	return nil
}
