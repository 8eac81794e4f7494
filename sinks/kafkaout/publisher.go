package kafkaout

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/checkpoint"
	"taximeter/schemas"
)

// Publisher sends the outboxes of one partition, each with its marker.
type Publisher struct {
	k *Kafka
	p schemas.Partition
	*fenced
}

// marker is the value of the record that says what is public of a partition. Its key is
// the namespace.
type marker struct {
	Made checkpoint.Number `json:"made"`
}

// OpenPublisher fences all earlier publishers of the partition.
func (k *Kafka) OpenPublisher(ctx context.Context, p schemas.Partition) (*Publisher, error) {
	f, err := k.open(ctx, fmt.Sprintf("taximeter-%s-%d", k.o.Namespace, p), k.o.PublishTimeout, these(place{schemas.TopicPayments, int32(p)},
		place{schemas.TopicWindows, int32(p)}, place{schemas.TopicDLQ, int32(p)}, place{schemas.TopicCommits, int32(p)}))
	if err != nil {
		return nil, err
	}
	return &Publisher{k, p, f}, nil
}

// Marker is the newest manifest number whose outbox is public; 0 = none. Its answer holds
// only after opening: before, an earlier publisher's transaction may still land.
func (p *Publisher) Marker(ctx context.Context) (checkpoint.Number, error) {
	return p.k.Published(ctx, p.p)
}

// Published is a Marker without the right to publish: an earlier publisher's transaction
// may still land.
func (k *Kafka) Published(ctx context.Context, p schemas.Partition) (made checkpoint.Number, err error) {
	_, err = k.readBack(ctx, schemas.TopicCommits, p, 0, func(r *kgo.Record) error {
		var m marker
		if err := json.Unmarshal(r.Value, &m); err != nil {
			return err
		}
		made = m.Made
		return nil
	})
	return made, err
}

// Publish sends an outbox and its marker in one transaction. After an error it is unknown
// whether it is public: open anew and ask for the Marker.
func (p *Publisher) Publish(ctx context.Context, made checkpoint.Number, o schemas.Outbox) error {
	records, err := p.k.o.records(p.p, made, &o)
	if err != nil {
		return err
	}
	value, err := json.Marshal(marker{made})
	if err != nil {
		return fmt.Errorf("marker %d: %w", made, err)
	}
	records = append(records, &kgo.Record{Topic: schemas.TopicCommits, Partition: int32(p.p), Key: []byte(p.k.o.Namespace), Value: value})
	return p.k.transaction(ctx, p.fenced, records)
}

// Settle finds out whether what was published has ended for its readers, and asks nobody once it has. After an error
// open anew: that ends it.
func (p *Publisher) Settle(ctx context.Context) error { return p.k.settle(ctx, p.fenced) }
