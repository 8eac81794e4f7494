package traffic

import "taximeter/schemas"

// Tariffs are the prices of the trips: one per region and category, with a rise in mid-run.
func Tariffs(start schemas.Millis) (all []schemas.Tariff) {
	price := func(id, region, category string, from schemas.Millis, base, perKm, perMin, minimum schemas.Micros) {
		all = append(all, schemas.Tariff{TariffID: id, Region: region, Category: category, ValidFrom: from, Currency: "BRL",
			Base: base, PerKm: perKm, PerMin: perMin, Minimum: minimum, CancelFee: 5_000_000, GraceS: 120})
	}
	before, rise := start.Add(-30*schemas.Day), start.Add(10*schemas.Minute)
	price("sp-1", "sao-paulo", schemas.Any, before, 2_500_000, 1_450_000, 260_000, 7_500_000)
	price("sp-2", "sao-paulo", schemas.Any, rise, 2_500_000, 1_525_000, 275_000, 7_900_000)
	price("sp-conforto-1", "sao-paulo", "conforto", before, 3_500_000, 1_990_000, 340_000, 10_900_000)
	price("rj-1", "rio-de-janeiro", schemas.Any, before, 3_000_000, 1_795_000, 312_500, 9_000_000)
	price("geral-1", schemas.Any, schemas.Any, before, 2_300_000, 1_333_333, 233_333, 6_900_000)
	return all
}

// Rules are one of each kind.
func Rules(start schemas.Millis) []schemas.Rule {
	rule := func(id, kind string, params map[string]string) schemas.Rule {
		return schemas.Rule{RuleID: id, Version: 1, Kind: kind, Active: true, ValidFrom: start.Add(-30 * schemas.Day), Params: params}
	}
	return []schemas.Rule{
		rule("parada-longa", "parada", map[string]string{"raioM": "50", "duracaoMin": "10"}),
		rule("fora-da-rota", "desvio", map[string]string{"limiarM": "300", "pontos": "5"}),
		rule("excesso-de-velocidade", "velocidade", map[string]string{"limiarKmh": "110", "pontos": "1"}),
		rule("sinal-perdido", "sem_sinal", map[string]string{"duracaoMin": "5"}),
		rule("cartao-em-dobro", "cobranca_duplicada", map[string]string{"segundos": "5"}),
		rule("corrida-cara", "expressao", map[string]string{"expressao": "multiplicador >= 2.0 && distancia_m > 5000.0"}),
	}
}
