package webhook

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/schemas"
)

// Why an alert was not delivered: the header taximeter-reason of its record.
const (
	reasonRefused    = "recusado"       // the endpoint's answer will not change
	reasonBudget     = "prazo_esgotado" // the channel failed for longer than the budget
	reasonUnreadable = "ilegivel"       // no alert of the contract; it was for no channel yet
	maxReason        = 1_000            // bytes of the words in taximeter-detail
	writePause       = 1 * time.Second  // between attempts to write it down
)

// undelivered writes the original record to corridas.alertas.nao_entregues, with whom it
// was for and why that has not got it. channel nil = it came to none. An error means that
// ctx ended first.
func (d *Deliverer) undelivered(ctx context.Context, c *channel, it *item, reason string, why error) error {
	r := it.record
	detail := why.Error()
	letter := &kgo.Record{Topic: schemas.TopicUndelivered, Key: r.Key, Value: r.Value, Headers: []kgo.RecordHeader{
		{Key: schemas.HeaderNamespace, Value: []byte(d.o.Namespace)},
		{Key: schemas.HeaderReason, Value: []byte(reason)},
		{Key: schemas.HeaderDetail, Value: []byte(detail[:min(len(detail), maxReason)])},
		{Key: schemas.HeaderSource, Value: fmt.Appendf(nil, "%s/%d/%d", r.Topic, r.Partition, r.Offset)},
	}}
	name := noChannel
	if c != nil {
		name = c.Name
		letter.Headers = append(letter.Headers, kgo.RecordHeader{Key: schemas.HeaderChannel, Value: []byte(name)})
	}
	for {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		err := d.client.ProduceSync(ctx, letter).FirstErr()
		if err == nil {
			break
		}
		d.o.Log.Error("an alert was not delivered and cannot be written down; trying again", "channel", name, "alert", it.alert.AlertID, "err", err)
		if !sleep(ctx, writePause, nil) {
			return ctx.Err()
		}
	}
	d.o.Log.Warn("alert not delivered", "channel", name, "alert", it.alert.AlertID, "trip", it.alert.TripID, "reason", reason, "err", why)
	d.metrics.results.WithLabelValues(name, reason).Inc()
	if c != nil {
		d.metrics.waiting.WithLabelValues(name).Dec()
	}
	return nil
}

func (d *Deliverer) delivered(c *channel, it *item) {
	d.metrics.results.WithLabelValues(c.Name, resultDelivered).Inc()
	d.metrics.seconds.WithLabelValues(c.Name).Observe(time.Since(it.record.Timestamp).Seconds())
	d.metrics.waiting.WithLabelValues(c.Name).Dec()
}

func (d *Deliverer) failed(c *channel) { d.metrics.failures.WithLabelValues(c.Name).Inc() }
