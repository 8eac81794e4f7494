package edge

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"taximeter/schemas"
)

// TariffKey is the tariff's record key on schemas.TopicTariffs: regiao/categoria/vigenteDesde,
// the instant as epoch milliseconds.
func TariffKey(t *schemas.Tariff) string {
	return t.Region + "/" + t.Category + "/" + strconv.FormatInt(int64(t.ValidFrom), 10)
}

// RuleKey is the rule's record key on schemas.TopicRules: regraId/versao.
func RuleKey(r *schemas.Rule) string { return r.RuleID + "/" + strconv.Itoa(r.Version) }

// CheckTariff lists what is wrong with a tariff, also one that came from Kafka.
func CheckTariff(t *schemas.Tariff) (bad []Problem) {
	for _, f := range tariffFields {
		if f.check == nil {
			continue
		}
		if text := f.check(t); text != "" {
			bad = append(bad, Problem{f.name, text})
		}
	}
	return bad
}

// A check may read its own field and those above it: readItem checks in this order.
var tariffFields = []catalogueField[schemas.Tariff]{
	{name: "tarifaId", read: into(func(t *schemas.Tariff) *string { return &t.TariffID }, parseText[string]),
		check: func(t *schemas.Tariff) string { return emptyText(t.TariffID) }},
	{name: "regiao", read: into(func(t *schemas.Tariff) *string { return &t.Region }, parseText[string]),
		check: func(t *schemas.Tariff) string { return keyPart(t.Region) }},
	{name: "categoria", read: into(func(t *schemas.Tariff) *string { return &t.Category }, parseText[string]),
		check: func(t *schemas.Tariff) string {
			// Tariffs are looked up by (region, category), (region, *) and (*, *) only.
			if t.Region == schemas.Any && t.Category != schemas.Any && t.Category != "" {
				return fmt.Sprintf("regiao %q goes only with categoria %q: this tariff would never be found; name the region",
					schemas.Any, schemas.Any)
			}
			return keyPart(t.Category)
		}},
	{name: "vigenteDesde", read: into(func(t *schemas.Tariff) *schemas.Millis { return &t.ValidFrom }, parseInstant)},
	{name: "moeda", read: into(func(t *schemas.Tariff) *string { return &t.Currency }, parseText[string]),
		check: func(t *schemas.Tariff) string {
			if len(t.Currency) != 3 || strings.Trim(t.Currency, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
				return fmt.Sprintf("not an ISO 4217 code such as BRL: %q", t.Currency)
			}
			return ""
		}},
	price("bandeirada", func(t *schemas.Tariff) *schemas.Micros { return &t.Base }),
	price("precoKm", func(t *schemas.Tariff) *schemas.Micros { return &t.PerKm }),
	price("precoMin", func(t *schemas.Tariff) *schemas.Micros { return &t.PerMin }),
	price("minimo", func(t *schemas.Tariff) *schemas.Micros { return &t.Minimum }),
	price("taxaCancelamento", func(t *schemas.Tariff) *schemas.Micros { return &t.CancelFee }),
	{name: "carenciaS", read: into(func(t *schemas.Tariff) *int { return &t.GraceS }, parseCount),
		check: func(t *schemas.Tariff) string {
			if t.GraceS < 0 {
				return fmt.Sprintf("must be 0 s or more: %d", t.GraceS)
			}
			return ""
		}},
}

var ruleFields = []catalogueField[schemas.Rule]{
	{name: "regraId", read: into(func(r *schemas.Rule) *string { return &r.RuleID }, parseText[string]),
		check: func(r *schemas.Rule) string { return keyPart(r.RuleID) }},
	{name: "versao", read: into(func(r *schemas.Rule) *int { return &r.Version }, parseCount),
		check: func(r *schemas.Rule) string {
			if r.Version < 1 {
				return fmt.Sprintf("must be 1 or more: %d", r.Version)
			}
			return ""
		}},
	{name: "tipo", read: into(func(r *schemas.Rule) *string { return &r.Kind }, parseText[string]),
		check: func(r *schemas.Rule) string { return emptyText(r.Kind) }},
	{name: "ativa", read: into(func(r *schemas.Rule) *bool { return &r.Active }, parseBool)},
	{name: "vigenteDesde", read: into(func(r *schemas.Rule) *schemas.Millis { return &r.ValidFrom }, parseInstant)},
	{name: "regioes", optional: true, read: into(func(r *schemas.Rule) *[]string { return &r.Regions }, parseTexts),
		check: func(r *schemas.Rule) string { return emptyList(r.Regions) }},
	{name: "categorias", optional: true, read: into(func(r *schemas.Rule) *[]string { return &r.Categories }, parseTexts),
		check: func(r *schemas.Rule) string { return emptyList(r.Categories) }},
	{name: "parametros", optional: true, read: into(func(r *schemas.Rule) *map[string]string { return &r.Params }, parseTextMap)},
}

func price(name string, of func(*schemas.Tariff) *schemas.Micros) catalogueField[schemas.Tariff] {
	return catalogueField[schemas.Tariff]{name: name, read: into(of, parseMicros), check: func(t *schemas.Tariff) string {
		if p := *of(t); p < 0 {
			return fmt.Sprintf("must not be negative: %s", p)
		}
		return ""
	}}
}

func into[T, F any](of func(*T) *F, parse func(jsontext.Value) (F, error)) func(*T, jsontext.Value) error {
	return func(item *T, v jsontext.Value) error {
		x, err := parse(v)
		*of(item) = x
		return err
	}
}

func parseCount(v jsontext.Value) (int, error) {
	n, err := parseInt(v, 32) // Avro int
	return int(n), err
}

func parseTexts(v jsontext.Value) ([]string, error) {
	if v.Kind() != '[' {
		return nil, wrongType("an array of strings", v)
	}
	elements, err := newScanner().elements(v)
	if err != nil {
		return nil, err
	}
	texts := make([]string, len(elements))
	for i, e := range elements {
		if texts[i], err = parseText[string](e); err != nil {
			return nil, fmt.Errorf("element %d %w", i, err)
		}
	}
	return texts, nil
}

func parseTextMap(v jsontext.Value) (map[string]string, error) {
	if v.Kind() != '{' {
		return nil, wrongType("an object of strings", v)
	}
	given, names, err := splitObject(v)
	if err != nil {
		return nil, err
	}
	texts := make(map[string]string, len(given))
	for _, name := range names {
		if texts[name], err = parseText[string](given[name]); err != nil {
			return nil, fmt.Errorf("%s %w; write it in quotes", name, err)
		}
	}
	return texts, nil
}

func emptyText(s string) string {
	if s == "" {
		return "must not be empty"
	}
	return ""
}

// keyPart refuses the slash that parts record keys and the names that ids are made of.
func keyPart(s string) string {
	if strings.Contains(s, "/") {
		return fmt.Sprintf("must not contain a slash: %q", s)
	}
	return emptyText(s)
}

// emptyList refuses [] where null means "all": it would match nothing, silently.
func emptyList(list []string) string {
	if list != nil && len(list) == 0 {
		return "an empty list matches nothing; leave it out for all"
	}
	for _, s := range list {
		if s == "" {
			return "must not hold an empty name"
		}
	}
	return ""
}
