package catalogue

import (
	"maps"
	"slices"

	"taximeter/schemas"
	"taximeter/schemas/edge"
)

// Changes are entries by what publishing them would do.
type Changes[T any] struct {
	New, Changed, Unchanged []T
}

// Effective are those worth publishing.
func (c Changes[T]) Effective() []T { return slices.Concat(c.New, c.Changed) }

// TariffChanges compares tariffs with those in force.
func (c *Catalogue) TariffChanges(tariffs []schemas.Tariff) Changes[schemas.Tariff] {
	return changes(byKey(c.Tariffs, edge.TariffKey), tariffs, edge.TariffKey, func(a, b *schemas.Tariff) bool { return *a == *b })
}

// RuleChanges compares rules with those in force.
func (c *Catalogue) RuleChanges(rules []schemas.Rule) Changes[schemas.Rule] {
	return changes(byKey(c.Rules, edge.RuleKey), rules, edge.RuleKey, sameRule)
}

func sameRule(a, b *schemas.Rule) bool {
	return a.RuleID == b.RuleID && a.Version == b.Version && a.Kind == b.Kind && a.Active == b.Active && a.ValidFrom == b.ValidFrom &&
		slices.Equal(a.Regions, b.Regions) && slices.Equal(a.Categories, b.Categories) && maps.Equal(a.Params, b.Params)
}

func changes[T any](have map[string]T, given []T, key func(*T) string, same func(a, b *T) bool) (c Changes[T]) {
	for i := range given {
		old, ok := have[key(&given[i])]
		switch {
		case !ok:
			c.New = append(c.New, given[i])
		case same(&old, &given[i]):
			c.Unchanged = append(c.Unchanged, given[i])
		default:
			c.Changed = append(c.Changed, given[i])
		}
	}
	return c
}
