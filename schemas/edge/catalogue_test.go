package edge

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"taximeter/schemas"
)

// tariff is a good tariff as JSON, with some members changed; "" takes one out.
func tariff(changes ...string) string {
	members := []string{"tarifaId", `"sp-pop-1"`, "regiao", `"sp"`, "categoria", `"pop"`, "vigenteDesde", `"2025-01-01T00:00:00-03:00"`,
		"moeda", `"BRL"`, "bandeirada", `"5.00"`, "precoKm", `"2.123456"`, "precoMin", `0.35`, "minimo", `"8"`,
		"taxaCancelamento", `"7.50"`, "carenciaS", `120`}
	return objectOf(members, changes)
}

func rule(changes ...string) string {
	return objectOf([]string{"regraId", `"parada"`, "versao", `2`, "tipo", `"parada"`, "ativa", `true`, "vigenteDesde", `1735700400000`,
		"regioes", `["sp","rj"]`, "parametros", `{"raioM":"50"}`}, changes)
}

// objectOf writes an object of the members (name, JSON text, ...) with the changes made.
func objectOf(members, changes []string) string {
	for i := 0; i < len(changes); i += 2 {
		at := -1
		for j := 0; j < len(members); j += 2 {
			if members[j] == changes[i] {
				at = j
			}
		}
		if at < 0 {
			members = append(members, changes[i], changes[i+1])
			continue
		}
		members[at+1] = changes[i+1]
	}
	var parts []string
	for j := 0; j < len(members); j += 2 {
		if members[j+1] != "" {
			parts = append(parts, fmt.Sprintf("%q:%s", members[j], members[j+1]))
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func TestReadCatalogues(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tarifas.json")
	text := "[" + tariff() + ",\n" + tariff("regiao", `"*"`, "categoria", `"*"`, "tarifaId", `"tudo"`) + "]\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	tariffs, err := ReadTariffsFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := schemas.Tariff{TariffID: "sp-pop-1", Region: "sp", Category: "pop", ValidFrom: 1735700400000, Currency: "BRL",
		Base: 5_000_000, PerKm: 2_123_456, PerMin: 350_000, Minimum: 8_000_000, CancelFee: 7_500_000, GraceS: 120}
	if len(tariffs) != 2 || tariffs[0] != want || tariffs[1].Region != schemas.Any {
		t.Errorf("%+v", tariffs)
	}
	if key := TariffKey(&tariffs[0]); key != "sp/pop/1735700400000" {
		t.Error(key)
	}

	rules, err := ReadRules("regras.json", strings.NewReader("["+rule()+","+rule("versao", "3", "regioes", "null", "parametros", "")+"]"))
	if err != nil {
		t.Fatal(err)
	}
	wantRule := schemas.Rule{RuleID: "parada", Version: 2, Kind: "parada", Active: true, ValidFrom: 1735700400000,
		Regions: []string{"sp", "rj"}, Params: map[string]string{"raioM": "50"}}
	if len(rules) != 2 || !reflect.DeepEqual(rules[0], wantRule) || rules[1].Regions != nil || rules[1].Params != nil || RuleKey(&rules[1]) != "parada/3" {
		t.Errorf("%+v", rules)
	}

	for _, path := range []string{"none.json", t.TempDir()} {
		if _, err := ReadRulesFile(path); err == nil || !strings.Contains(err.Error(), path) {
			t.Error(err)
		}
	}
}

func TestEveryProblemOfACatalogueIsToldAtOnce(t *testing.T) {
	_, err := ReadTariffs("tarifas.json", strings.NewReader("["+strings.Join([]string{
		tariff("precoKm", `"1.2345678"`, "minimo", `"-1"`, "moeda", `"real"`, "carenciaS", ""),
		tariff("precokm", `"1"`, "cor", `1`, "regiao", `""`, "categoria", `"a/b"`),
		tariff(),
		tariff("tarifaId", `"other"`),
		tariff("regiao", `"*"`, "carenciaS", `-1`, "vigenteDesde", `"amanhã"`, "bandeirada", `true`),
		`7`,
		tariff("tarifaId", `null`),
	}, ",")+"]"))
	want := `tarifas.json: [0].moeda: not an ISO 4217 code such as BRL: "real"
tarifas.json: [0].precoKm: not a decimal with at most 6 places: "1.2345678"
tarifas.json: [0].minimo: must not be negative: -1.000000
tarifas.json: [0].carenciaS: missing
tarifas.json: [1].regiao: must not be empty
tarifas.json: [1].categoria: must not contain a slash: "a/b"
tarifas.json: [1].precokm: unknown field; write "precoKm"
tarifas.json: [1].cor: unknown field; remove it
tarifas.json: [3]: the same key "sp/pop/1735700400000" as [2]; remove one of them
tarifas.json: [4].categoria: regiao "*" goes only with categoria "*": this tariff would never be found; name the region
tarifas.json: [4].vigenteDesde: neither epoch milliseconds nor RFC 3339 (such as 2025-11-24T13:20:00.123Z): "amanhã"
tarifas.json: [4].bandeirada: must be a decimal in a string, not true
tarifas.json: [4].carenciaS: must be 0 s or more: -1
tarifas.json: [5]: must be an object, not 7
tarifas.json: [6].tarifaId: missing`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}

	_, err = ReadRules("r", strings.NewReader("["+strings.Join([]string{
		rule("versao", `0`, "regioes", `[]`, "categorias", `["x",""]`, "parametros", `{"raioM":50}`),
		rule("versao", `1.5`, "tipo", `""`, "ativa", `"sim"`, "regioes", `["sp",3]`, "parametros", `[]`),
		rule(), rule("tipo", `"outro"`),
	}, ",")+"]"))
	want = `r: [0].versao: must be 1 or more: 0
r: [0].regioes: an empty list matches nothing; leave it out for all
r: [0].categorias: must not hold an empty name
r: [0].parametros: raioM must be a string, not 50; write it in quotes
r: [1].versao: not a whole number of 32 bits: 1.5
r: [1].tipo: must not be empty
r: [1].ativa: must be true or false, not "sim"
r: [1].regioes: element 1 must be a string, not 3
r: [1].parametros: must be an object of strings, not []
r: [3]: the same key "parada/2" as [2]; remove one of them`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

func TestWhatIsNoCatalogueAtAll(t *testing.T) {
	for text, want := range map[string]string{
		``:                     `f: not valid JSON: the file is cut short`,
		`[` + tariff():         `f: not valid JSON: the file is cut short`,
		`{}`:                   `f: must be a JSON array, not {`,
		`x`:                    `f: not valid JSON on line 1, at "": invalid character 'x' at start of value`,
		"[\n{\"moeda\":}]":     `f: not valid JSON on line 2, at "/0/moeda": invalid character '}' at start of value`,
		`[{"moeda":1,"moeda"}`: `f: not valid JSON on line 1, at "/0/moeda": duplicate object member name`,
		`[] []`:                `f: something follows the JSON array; remove it`,
	} {
		if all, err := ReadTariffs("f", strings.NewReader(text)); err == nil || err.Error() != want || all != nil {
			t.Errorf("%s\n got %v\nwant %s", text, err, want)
		}
	}
	if all, err := ReadTariffs("f", strings.NewReader(" [ ] ")); err != nil || len(all) != 0 {
		t.Error(all, err)
	}
}

func TestATariffFromKafkaIsCheckedAlike(t *testing.T) {
	problems := CheckTariff(&schemas.Tariff{TariffID: "x", Region: "sp", Category: "*", Currency: "BRL", PerKm: -1})
	if len(problems) != 1 || problems[0].Error() != "precoKm: must not be negative: -0.000001" {
		t.Error(problems)
	}
}
