package catalogue

import (
	"testing"

	"taximeter/schemas"
)

func TestChanges(t *testing.T) {
	have := Catalogue{
		Tariffs: []schemas.Tariff{{TariffID: "a", Region: "sp"}, {TariffID: "b", Region: "rj"}},
		Rules:   []schemas.Rule{{RuleID: "r", Version: 1, Params: map[string]string{"raioM": "50"}}, {RuleID: "r", Version: 2}},
	}
	tariffs := have.TariffChanges([]schemas.Tariff{{TariffID: "a", Region: "sp"}, {TariffID: "b", Region: "rj", Base: 1}, {TariffID: "b", Region: "rj", ValidFrom: 7}})
	if len(tariffs.Unchanged) != 1 || len(tariffs.Changed) != 1 || tariffs.Changed[0].Base != 1 || len(tariffs.New) != 1 || tariffs.New[0].ValidFrom != 7 {
		t.Errorf("%+v", tariffs)
	}
	rules := have.RuleChanges([]schemas.Rule{
		{RuleID: "r", Version: 1, Params: map[string]string{"raioM": "60"}},
		{RuleID: "r", Version: 2, Params: map[string]string{}, Regions: nil}, // no parameters, however written
		{RuleID: "r", Version: 3},
	})
	if len(rules.Unchanged) != 1 || rules.Unchanged[0].Version != 2 || len(rules.Changed) != 1 || len(rules.New) != 1 || len(rules.Effective()) != 2 {
		t.Errorf("%+v", rules)
	}
	with := have.With(tariffs.Effective(), rules.Effective())
	if len(with.Tariffs) != 3 || with.Tariffs[0].Base != 1 || len(with.Rules) != 3 || with.Rules[0].Params["raioM"] != "60" {
		t.Errorf("%+v", with)
	}
}
