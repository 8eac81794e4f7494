package catalogue

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/cmd/internal/values"
	"taximeter/schemas"
	"taximeter/schemas/avro"
	"taximeter/schemas/codec"
	"taximeter/schemas/edge"
	"taximeter/schemas/registry"
)

// Publish sends tariffs and rules as their owners would, and returns once all brokers that
// must have them do. Nothing is sent unless all can be written.
func Publish(ctx context.Context, client *kgo.Client, r *registry.Client, tariffs []schemas.Tariff, rules []schemas.Rule) error {
	t, err := records(ctx, r, schemas.TopicTariffs, tariffs, edge.TariffKey, codec.AppendTariff)
	if err != nil {
		return err
	}
	u, err := records(ctx, r, schemas.TopicRules, rules, edge.RuleKey, codec.AppendRule)
	if err != nil {
		return err
	}
	all := append(t, u...)
	sent := make(chan error, len(all))
	for _, x := range all {
		client.Produce(ctx, x, func(_ *kgo.Record, err error) { sent <- err })
	}
	errs := []error{client.Flush(ctx)}
	for range all {
		errs = append(errs, <-sent)
	}
	return errors.Join(errs...)
}

func records[T any](ctx context.Context, r *registry.Client, topic string, all []T, key func(*T) string,
	encode func(dst []byte, schemaID int, x *T) ([]byte, error)) ([]*kgo.Record, error) {
	if len(all) == 0 {
		return nil, nil
	}
	c, ok := avro.Of(topic)
	if !ok {
		return nil, fmt.Errorf("topic %s has no contract", topic)
	}
	id, err := r.Register(ctx, c.Subject(), c.Schema)
	if err != nil {
		return nil, values.Asked(err)
	}
	out := make([]*kgo.Record, 0, len(all))
	for i := range all {
		value, err := encode(nil, id, &all[i])
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", topic, key(&all[i]), err)
		}
		out = append(out, &kgo.Record{Topic: topic, Key: []byte(key(&all[i])), Value: value})
	}
	return out, nil
}
