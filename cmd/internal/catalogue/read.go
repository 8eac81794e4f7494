package catalogue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"taximeter/actors/ingest"
	"taximeter/cmd/internal/values"
	"taximeter/internal/access"
	"taximeter/schemas"
	"taximeter/schemas/codec"
	"taximeter/schemas/edge"
	"taximeter/schemas/registry"
)

// Catalogue is what the topics hold, one entry of each key: tariffs by region, category and
// instant, rules by id and version.
type Catalogue struct {
	Tariffs []schemas.Tariff `json:"tarifas"`
	Rules   []schemas.Rule   `json:"regras"`
	// Refused are records that a node cannot take either, in words.
	Refused []string `json:"recusados,omitempty"`
}

// Read reads both topics to their ends as of now.
func Read(ctx context.Context, kafka access.Kafka, r *registry.Client) (*Catalogue, error) {
	c := &Catalogue{}
	tariffs, err := read(ctx, kafka, r, schemas.TopicTariffs, codec.NewTariffReader(), edge.CheckTariff, &c.Refused)
	if err != nil {
		return nil, err
	}
	rules, err := read(ctx, kafka, r, schemas.TopicRules, codec.NewRuleReader(), nil, &c.Refused)
	if err != nil {
		return nil, err
	}
	c.Tariffs, c.Rules = sortedTariffs(tariffs), sortedRules(rules)
	return c, nil
}

// read gives the newest value of every key of a topic that passes check (nil: all do).
func read[T any](ctx context.Context, kafka access.Kafka, r *registry.Client, topic string, reader *codec.Reader[T], check func(*T) []edge.Problem,
	refused *[]string) (map[string]T, error) {
	ctx, done := context.WithCancel(ctx)
	defer done()
	newest, whole := make(map[string]T), false
	feed := ingest.Catalogue{Client: kafka.Options(), Topic: topic, CaughtUp: func() { whole = true; done() }}
	feed.Each = func(e ingest.Entry) error {
		if whole {
			return nil // came after we began
		}
		if e.Value == nil {
			delete(newest, string(e.Key))
			return nil
		}
		x, err := values.Decode(ctx, r, reader, e.Value)
		if err != nil && !values.AtFault(err) {
			return err
		}
		if err == nil && check != nil {
			err = first(check(&x))
		}
		if err != nil {
			*refused = append(*refused, fmt.Sprintf("%s offset %d, key %q: %v", topic, e.Offset, e.Key, err))
			return nil // what the key held before stays in force
		}
		newest[string(e.Key)] = x
		return nil
	}
	if err := feed.Follow(ctx); !whole || !errors.Is(err, context.Canceled) {
		return nil, err
	}
	return newest, nil
}

func first(problems []edge.Problem) error {
	if len(problems) == 0 {
		return nil
	}
	return problems[0]
}

func sortedTariffs(all map[string]schemas.Tariff) []schemas.Tariff {
	return slices.SortedFunc(maps.Values(all), func(a, b schemas.Tariff) int {
		return cmp.Or(strings.Compare(a.Region, b.Region), strings.Compare(a.Category, b.Category), cmp.Compare(a.ValidFrom, b.ValidFrom))
	})
}

func sortedRules(all map[string]schemas.Rule) []schemas.Rule {
	return slices.SortedFunc(maps.Values(all), func(a, b schemas.Rule) int {
		return cmp.Or(strings.Compare(a.RuleID, b.RuleID), cmp.Compare(a.Version, b.Version))
	})
}

func byKey[T any](all []T, key func(*T) string) map[string]T {
	m := make(map[string]T, len(all))
	for i := range all {
		m[key(&all[i])] = all[i]
	}
	return m
}

// With is the catalogue once these are published.
func (c *Catalogue) With(tariffs []schemas.Tariff, rules []schemas.Rule) *Catalogue {
	t, r := byKey(c.Tariffs, edge.TariffKey), byKey(c.Rules, edge.RuleKey)
	maps.Copy(t, byKey(tariffs, edge.TariffKey))
	maps.Copy(r, byKey(rules, edge.RuleKey))
	return &Catalogue{Tariffs: sortedTariffs(t), Rules: sortedRules(r)}
}
