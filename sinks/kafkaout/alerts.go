package kafkaout

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/schemas"
	"taximeter/schemas/codec"
)

// maxMarkerText keeps a record of the log below maxBatchBytes also if JSON writes six bytes for one: it counts the bytes
// of ids, rules and trips, some hundred an alert.
const maxMarkerText = 150_000

// Alerts sends the alerts of one partition, and beside them their ids to the partition's
// own log. Only that log is read back: alerts of many tasks share the partitions of the
// alerts topic, so that its end lies behind other tasks' open transactions.
type Alerts struct {
	k *Kafka
	p schemas.Partition
	n int32 // partitions of the topic of alerts
	*fenced
}

func (k *Kafka) alertsID(p schemas.Partition) string {
	return fmt.Sprintf("taximeter-%s-alerts-%d", k.o.Namespace, p)
}

// OpenAlerts fences all earlier senders of the partition's alerts. Partitions that the topic of alerts gets later
// are used from the next opening on.
func (k *Kafka) OpenAlerts(ctx context.Context, p schemas.Partition) (*Alerts, error) {
	var n int32
	f, err := k.open(ctx, k.alertsID(p), k.o.AlertTimeout, func() (written []place, err error) {
		if n, err = k.partitions(ctx, schemas.TopicAlerts); err != nil {
			return nil, err
		}
		written = append(written, place{schemas.TopicAlertIDs, int32(p)})
		for i := range n {
			written = append(written, place{schemas.TopicAlerts, i})
		}
		return written, nil
	})
	if err != nil {
		return nil, err
	}
	return &Alerts{k, p, n, f}, nil
}

// place gives an alert its partition, by the hash of its region.
func (a *Alerts) place(r *kgo.Record) {
	r.Partition = int32(kgo.StickyKeyPartitioner(nil).ForTopic(r.Topic).Partition(r, int(a.n)))
}

// AlertsSince reads what was sent from a position of the log on, and the position after it. What
// the log no longer holds it leaves out: positions are younger than the log's retention.
func (a *Alerts) AlertsSince(ctx context.Context, from schemas.Offset) (sent []schemas.SentAlert, next schemas.Offset, err error) {
	next, err = a.k.readBack(ctx, schemas.TopicAlertIDs, a.p, from, func(r *kgo.Record) error {
		some, err := readSent(r)
		sent = append(sent, some...)
		return err
	})
	return sent, next, err
}

// A record of the log has the alerts' ids as lines. Their rules and trips stand in a header, since
// earlier versions wrote and read the lines alone.

func sentRecord(some []schemas.Alert) (value []byte, facts kgo.RecordHeader, err error) {
	pairs := make([][2]string, len(some))
	for i := range some {
		if i > 0 {
			value = append(value, '\n')
		}
		value = append(value, some[i].AlertID...)
		pairs[i] = [2]string{some[i].RuleID, string(some[i].TripID)}
	}
	text, err := json.Marshal(pairs)
	return value, kgo.RecordHeader{Key: schemas.HeaderFacts, Value: text}, err
}

// lots cuts alerts into what one record of the log can hold.
func lots(alerts []schemas.Alert) iter.Seq[[]schemas.Alert] {
	return func(yield func([]schemas.Alert) bool) {
		from, text := 0, 0
		for i := range alerts {
			n := len(alerts[i].AlertID) + len(alerts[i].RuleID) + len(alerts[i].TripID)
			if text += n; text > maxMarkerText && i > from {
				if !yield(alerts[from:i]) {
					return
				}
				from, text = i, n
			}
		}
		yield(alerts[from:])
	}
}

func readSent(r *kgo.Record) (sent []schemas.SentAlert, err error) {
	var pairs [][2]string
	for _, h := range r.Headers {
		if h.Key == schemas.HeaderFacts {
			if err := json.Unmarshal(h.Value, &pairs); err != nil {
				return nil, fmt.Errorf("header %s: %w", h.Key, err)
			}
		}
	}
	for i, id := range strings.Split(string(r.Value), "\n") {
		a := schemas.SentAlert{AlertID: id}
		if i < len(pairs) {
			a.RuleID, a.TripID = pairs[i][0], schemas.TripID(pairs[i][1])
		}
		sent = append(sent, a)
	}
	return sent, nil
}

// SendAlerts sends alerts and their ids in one transaction, and gives the position of the
// log after them; 0 when there is nothing to send. After an error it is unknown whether they were sent: open anew and read
// AlertsSince.
func (a *Alerts) SendAlerts(ctx context.Context, alerts []schemas.Alert) (next schemas.Offset, err error) {
	if len(alerts) == 0 {
		return 0, nil
	}
	var records []*kgo.Record
	for i := range alerts {
		alert := &alerts[i]
		value, err := codec.AppendAlert(nil, a.k.o.Schemas.Alert, alert)
		if err != nil {
			return 0, fmt.Errorf("alert %s of trip %s: %w", alert.AlertID, alert.TripID, err)
		}
		records = append(records, &kgo.Record{Topic: schemas.TopicAlerts, Key: []byte(alert.Region), Value: value,
			Headers: []kgo.RecordHeader{header(schemas.HeaderNamespace, a.k.o.Namespace)}})
		a.place(records[i])
	}
	for some := range lots(alerts) {
		value, facts, err := sentRecord(some)
		if err != nil {
			return 0, err
		}
		records = append(records, &kgo.Record{Topic: schemas.TopicAlertIDs, Partition: int32(a.p),
			Key: []byte(a.k.o.Namespace), Value: value, Headers: []kgo.RecordHeader{facts}})
	}
	if err := a.k.transaction(ctx, a.fenced, records); err != nil {
		return 0, err
	}
	return schemas.Offset(records[len(records)-1].Offset + 1), nil
}

// Settle finds out whether what was sent has ended for its readers, and asks nobody once it has. After an error
// open anew: that ends it.
func (a *Alerts) Settle(ctx context.Context) error { return a.k.settle(ctx, a.fenced) }
