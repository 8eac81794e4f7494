package city

import "taximeter/schemas"

// categories of cars, each with its share of the trips.
var categories = []struct {
	name  string
	share float64
}{{"economico", 0.7}, {"conforto", 0.2}, {"moto", 0.1}}

// Tariffs are the prices of the default city when it starts at an instant: two versions in time where a region has its
// own, one region with one price for all categories, and prices for anywhere else.
func Tariffs(start schemas.Millis) []schemas.Tariff {
	before, rise := start.Add(-30*schemas.Day), start.Add(6*schemas.Hour)
	price := func(id, region, category string, from schemas.Millis, base, perKm, perMin, minimum, cancel schemas.Micros) schemas.Tariff {
		return schemas.Tariff{TariffID: id, Region: region, Category: category, ValidFrom: from, Currency: "BRL",
			Base: base, PerKm: perKm, PerMin: perMin, Minimum: minimum, CancelFee: cancel, GraceS: graceS}
	}
	return []schemas.Tariff{
		price("sp-economico-1", "sao-paulo", "economico", before, 2_500_000, 1_450_000, 260_000, 7_500_000, 5_000_000),
		price("sp-economico-2", "sao-paulo", "economico", rise, 2_500_000, 1_525_000, 275_000, 7_900_000, 5_000_000),
		price("sp-conforto-1", "sao-paulo", "conforto", before, 3_500_000, 1_990_000, 340_000, 10_900_000, 6_500_000),
		price("sp-conforto-2", "sao-paulo", "conforto", rise, 3_500_000, 2_085_000, 355_000, 10_900_000, 6_500_000),
		price("sp-moto-1", "sao-paulo", "moto", before, 1_200_000, 890_000, 120_000, 4_900_000, 3_000_000),
		price("rj-economico-1", "rio-de-janeiro", "economico", before, 2_700_000, 1_510_000, 255_000, 7_700_000, 5_000_000),
		price("rj-1", "rio-de-janeiro", schemas.Any, before, 3_000_000, 1_750_000, 300_000, 9_000_000, 6_000_000),
		price("rj-2", "rio-de-janeiro", schemas.Any, rise, 3_000_000, 1_795_000, 312_500, 9_000_000, 6_000_000),
		price("bh-1", "belo-horizonte", schemas.Any, before, 2_300_000, 1_333_333, 233_333, 6_900_000, 4_500_000),
		price("geral-1", schemas.Any, schemas.Any, before, 2_000_000, 1_400_000, 250_000, 7_000_000, 5_000_000),
	}
}

// graceS is how long after the match a cancellation costs nothing.
const graceS = 120

// Rules are one of each kind, set so that what happens in the city breaks each now and then.
func Rules(start schemas.Millis) []schemas.Rule {
	rule := func(id, kind string, params map[string]string) schemas.Rule {
		return schemas.Rule{RuleID: id, Version: 1, Kind: kind, Active: true, ValidFrom: start.Add(-30 * schemas.Day), Params: params}
	}
	return []schemas.Rule{
		rule("parada-longa", "parada", map[string]string{"raioM": "50", "duracaoMin": "10"}),
		rule("fora-da-rota", "desvio", map[string]string{"limiarM": "300", "pontos": "5"}),
		rule("excesso-de-velocidade", "velocidade", map[string]string{"limiarKmh": "110", "pontos": "3"}),
		rule("sinal-perdido", "sem_sinal", map[string]string{"duracaoMin": "5"}),
		rule("cartao-em-dobro", "cobranca_duplicada", map[string]string{"segundos": "5"}),
		rule("corrida-cara", "expressao", map[string]string{"expressao": "multiplicador >= 2.0 && distancia_m > 5000.0"}),
	}
}
