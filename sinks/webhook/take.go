package webhook

import (
	"context"

	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/schemas"
)

// take decodes a partition's records one after the other and hands them to the lanes.
func (d *Deliverer) take(ctx context.Context, p *partition) {
	for {
		select {
		case it := <-p.items:
			if !d.hand(ctx, p, it) {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// hand gives an alert to each of its channels; false = ctx ended first.
func (d *Deliverer) hand(ctx context.Context, p *partition, it *item) bool {
	if namespace := headerOf(it.record, schemas.HeaderNamespace); namespace != "" && namespace != d.o.Namespace {
		p.done(it) // its own deliverers tell it
		return true
	}
	if err := d.decode(ctx, it); err != nil {
		if d.undelivered(ctx, nil, it, reasonUnreadable, err) != nil {
			return false
		}
		p.done(it)
		return true
	}
	to := d.routes.of(it.alert.Region, it.alert.Kind)
	if len(to) == 0 {
		d.metrics.results.WithLabelValues(noChannel, resultNoChannel).Inc()
		p.done(it)
		return true
	}
	p.share(it, len(to))
	for _, channel := range to {
		d.metrics.waiting.WithLabelValues(d.channels[channel].Name).Inc()
		d.lane(ctx, p, channel).queue <- it
	}
	return true
}

// lane is the partition's line to a channel, begun with its first alert.
func (d *Deliverer) lane(ctx context.Context, p *partition, channel int) *lane {
	l := p.lanes[channel]
	if l == nil {
		l = &lane{channel: d.channels[channel], queue: make(chan *item, maxHeld+maxPoll), part: p, out: d, log: d.o.Log}
		p.lanes[channel] = l
		p.running.Go(func() { l.run(ctx) })
	}
	return l
}

func headerOf(r *kgo.Record, key string) string {
	for _, h := range r.Headers {
		if h.Key == key {
			return string(h.Value)
		}
	}
	return ""
}
