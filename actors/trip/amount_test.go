package trip_test

import (
	"math/big"
	"math/rand/v2"
	"testing"

	"taximeter/actors/trip"
	"taximeter/schemas"
)

// amountByFractions is the contract's sentence in math/big.
func amountByFractions(t *schemas.Tariff, b *schemas.Bill) *big.Rat {
	if b.Motive == schemas.MotiveCancelled {
		return big.NewRat(int64(t.CancelFee), 1_000_000)
	}
	sum := big.NewRat(int64(t.Base), 1_000_000)
	sum.Add(sum, new(big.Rat).Mul(big.NewRat(int64(t.PerKm), 1_000_000), big.NewRat(b.DistanceMM, 1_000_000)))
	sum.Add(sum, new(big.Rat).Mul(big.NewRat(int64(t.PerMin), 1_000_000), big.NewRat(b.DurationS, 60)))
	sum.Mul(sum, big.NewRat(int64(b.Multiplier), 1000))
	if minimum := big.NewRat(int64(t.Minimum), 1_000_000); sum.Cmp(minimum) < 0 {
		return minimum
	}
	return sum
}

func TestAmountIsExactUpToTheLimit(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	upTo := func(limit int64) int64 { // all sizes alike often, and the limit itself
		if rng.IntN(8) == 0 {
			return limit
		}
		return rng.Int64N(limit>>rng.IntN(60) + 1)
	}
	price := func() schemas.Micros { return schemas.Micros(upTo(int64(schemas.MaxMicros))) }
	limit := big.NewRat(2*int64(schemas.MaxCents)+1, 2) // rounds to even, beyond it
	fitted, halves := 0, 0
	for range 200_000 {
		tariff := &schemas.Tariff{Base: price(), PerKm: price(), PerMin: price(), Minimum: price(), CancelFee: price()}
		bill := &schemas.Bill{DistanceMM: upTo(1 << 62), DurationS: upTo(1 << 62), Multiplier: schemas.Mils(upTo(int64(schemas.MaxMils)))}
		switch rng.IntN(4) {
		case 0:
			bill.Motive = schemas.MotiveCancelled
		case 1:
			bill.Multiplier = -bill.Multiplier
		case 2: // a half cent
			*tariff = schemas.Tariff{Base: 5_000 + 10_000*schemas.Micros(upTo(100))}
			bill.Multiplier = schemas.OneMils
			halves++
		}
		want := new(big.Rat).Mul(amountByFractions(tariff, bill), big.NewRat(100, 1))
		got, fits := trip.Amount(tariff, bill)
		if fits != (want.Cmp(limit) < 0) {
			t.Fatalf("%+v %+v: fits %v, want %s cents", tariff, bill, fits, want.FloatString(3))
		}
		if !fits {
			continue
		}
		fitted++
		// |want - got| is at most a half, and exactly a half only at an even number.
		off := new(big.Rat).Sub(want, big.NewRat(int64(got), 1))
		if c := off.Abs(off).Cmp(big.NewRat(1, 2)); c > 0 || (c == 0 && got%2 != 0) {
			t.Fatalf("%+v %+v: %d cents, want %s", tariff, bill, got, want.FloatString(3))
		}
	}
	if fitted < 20_000 || halves < 20_000 {
		t.Errorf("%d amounts fitted, %d halves: too few to tell", fitted, halves)
	}
}

func BenchmarkAmount(b *testing.B) {
	tariff := &schemas.Tariff{Base: 2_500_000, PerKm: 1_450_000, PerMin: 260_000, Minimum: 7_500_000}
	bill := &schemas.Bill{DistanceMM: 7_123_456, DurationS: 1234, Multiplier: 1200}
	b.ReportAllocs()
	for b.Loop() {
		if _, fits := trip.Amount(tariff, bill); !fits {
			b.Fatal("does not fit")
		}
	}
}
