package kafkaout

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/schemas"
	"taximeter/schemas/codec"
)

// maxMarkerIDs keeps a marker record of 36-byte ids well below maxBatchBytes.
const maxMarkerIDs = 10_000

// Alerts sends the alerts of one partition, and beside them their ids to the partition's
// own log. Only that log is read back: alerts of many tasks share the partitions of the
// alerts topic, so that its end lies behind other tasks' open transactions.
type Alerts struct {
	k *Kafka
	p schemas.Partition
	*fenced
}

// OpenAlerts fences all earlier senders of the partition's alerts.
func (k *Kafka) OpenAlerts(ctx context.Context, p schemas.Partition) (*Alerts, error) {
	f, err := k.o.open(ctx, fmt.Sprintf("taximeter-%s-alerts-%d", k.o.Namespace, p), k.o.AlertTimeout, alertPartitioner())
	if err != nil {
		return nil, err
	}
	return &Alerts{k, p, f}, nil
}

// alertPartitioner places alerts by the hash of their region and markers by hand.
func alertPartitioner() kgo.Partitioner {
	keyed := kgo.StickyKeyPartitioner(nil)
	return kgo.BasicConsistentPartitioner(func(topic string) func(*kgo.Record, int) int {
		if topic == schemas.TopicAlertIDs {
			return func(r *kgo.Record, _ int) int { return int(r.Partition) }
		}
		return keyed.ForTopic(topic).Partition
	})
}

// AlertsSince reads the ids sent from a position of the log on, and the position after
// them. What the log no longer holds it leaves out: positions are younger than the
// log's retention.
func (a *Alerts) AlertsSince(ctx context.Context, from schemas.Offset) (ids []string, next schemas.Offset, err error) {
	next, err = a.k.readBack(ctx, schemas.TopicAlertIDs, a.p, from, func(value []byte) error {
		ids = append(ids, strings.Split(string(value), "\n")...)
		return nil
	})
	return ids, next, err
}

// SendAlerts sends alerts and their ids in one transaction, and gives the position of the
// log after them; 0 when there is nothing to send. After an error it is unknown whether they were sent: open anew and read
// AlertsSince.
func (a *Alerts) SendAlerts(ctx context.Context, alerts []schemas.Alert) (next schemas.Offset, err error) {
	if len(alerts) == 0 {
		return 0, nil
	}
	var records []*kgo.Record
	ids := make([]string, len(alerts))
	for i := range alerts {
		alert := &alerts[i]
		ids[i] = alert.AlertID
		value, err := codec.AppendAlert(nil, a.k.o.Schemas.Alert, alert)
		if err != nil {
			return 0, fmt.Errorf("alert %s of trip %s: %w", alert.AlertID, alert.TripID, err)
		}
		records = append(records, &kgo.Record{Topic: schemas.TopicAlerts, Key: []byte(alert.Region), Value: value,
			Headers: []kgo.RecordHeader{header(schemas.HeaderNamespace, a.k.o.Namespace)}})
	}
	for some := range slices.Chunk(ids, maxMarkerIDs) {
		records = append(records, &kgo.Record{Topic: schemas.TopicAlertIDs, Partition: int32(a.p),
			Key: []byte(a.k.o.Namespace), Value: []byte(strings.Join(some, "\n"))})
	}
	if err := a.transaction(ctx, records); err != nil {
		return 0, err
	}
	return schemas.Offset(records[len(records)-1].Offset + 1), nil
}
