package trip

import (
	"fmt"
	"math/big"

	"taximeter/schemas"
)

// Explanation is how the bill came about, for GET /trips/{id}/explain: every event with
// its verdict and the filter's decision, the tariff, the arithmetic line by line, and the
// chain of versions.
type Explanation struct {
	TripID     schemas.TripID  `json:"tripId"`
	Watermark  schemas.Millis  `json:"watermark"`
	Events     []EventView     `json:"eventos"`
	Tariff     *schemas.Tariff `json:"tarifa"`
	Revision   *schemas.Offset `json:"revisaoTarifas"` // of the catalogue, fixed by the first bill
	Arithmetic []string        `json:"conta"`
	Versions   []VersionView   `json:"versoes"`
	NotBilled  string          `json:"porQueSemFatura,omitempty"`
}

// VersionView is one published version of the bill.
type VersionView struct {
	Version    int            `json:"versao"`
	Amount     schemas.Cents  `json:"valor"`
	Difference schemas.Cents  `json:"diferenca"`
	DistanceMM int64          `json:"distanciaMM"`
	DurationS  int64          `json:"duracaoS"`
	Motive     schemas.Motive `json:"motivo,omitempty"`
}

// Explain tells it under a watermark. All points must be in memory.
func (s *State) Explain(env *Env) Explanation {
	x := Explanation{TripID: s.id, Watermark: env.Watermark, Events: s.events(), NotBilled: s.whyNotBilled(env)}
	if s.billing.last != nil {
		before, revision := schemas.Cents(0), s.billing.revision
		for i, v := range s.billing.versions {
			x.Versions = append(x.Versions, VersionView{i + 1, v.amount, v.amount - before, v.distanceMM, v.durationS, v.motive})
			before = v.amount
		}
		x.Revision = &revision
	}
	if s.stage == detailed && s.story.phase >= running {
		x.Tariff = s.price(env)
	}
	if b := s.billing.last; b != nil && x.Tariff != nil {
		x.Arithmetic = arithmetic(x.Tariff, b)
	}
	return x
}

// arithmetic writes the sum of a bill down, each line with its exact figures.
func arithmetic(t *schemas.Tariff, b *schemas.Bill) []string {
	switch b.Motive {
	case schemas.MotiveVoided:
		return []string{"voided: 0.00"}
	case schemas.MotiveCancelled:
		return []string{fmt.Sprintf("taxaCancelamento %s = %s", t.CancelFee, b.Amount)}
	}
	rat := func(a, d int64) *big.Rat { return big.NewRat(a, d) }
	km, minutes := rat(b.DistanceMM, 1_000_000), rat(b.DurationS, 60)
	perKm := new(big.Rat).Mul(rat(int64(t.PerKm), 1_000_000), km)
	perMin := new(big.Rat).Mul(rat(int64(t.PerMin), 1_000_000), minutes)
	sum := new(big.Rat).Add(rat(int64(t.Base), 1_000_000), perKm)
	sum.Add(sum, perMin)
	surged := new(big.Rat).Mul(sum, rat(int64(b.Multiplier), 1000))
	lines := []string{
		fmt.Sprintf("bandeirada %s", t.Base),
		fmt.Sprintf("+ precoKm %s x %s km = %s", t.PerKm, km.FloatString(6), perKm.FloatString(12)),
		fmt.Sprintf("+ precoMin %s x %d s / 60 = %s", t.PerMin, b.DurationS, perMin.FloatString(12)),
		fmt.Sprintf("= %s", sum.FloatString(12)),
		fmt.Sprintf("x multiplicador %s = %s", b.Multiplier, surged.FloatString(12)),
	}
	if surged.Cmp(rat(int64(t.Minimum), 1_000_000)) < 0 {
		lines = append(lines, fmt.Sprintf("below minimo %s: the minimum counts", t.Minimum))
	}
	return append(lines, fmt.Sprintf("rounded once, half to even: %s %s", b.Amount, b.Currency))
}
