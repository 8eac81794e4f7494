package trip

import (
	"math/bits"

	"taximeter/schemas"
)

// Amount is the bill's amount by its distance, duration, multiplier and motive: exact
// rational arithmetic, one rounding at the end, half to even. False means that it is
// beyond what decimal(12,2) can hold. Prices are not negative: no other enters a catalogue.
func Amount(t *schemas.Tariff, b *schemas.Bill) (schemas.Cents, bool) {
	// Everything in micros over one denominator: 60 (minutes) * 10^6 (km from mm) * 1000 (multiplier).
	const denominator = 60 * 1_000_000 * 1000
	if b.Motive == schemas.MotiveCancelled {
		return exact(t.CancelFee).times(denominator).cents(denominator)
	}
	sum := exact(t.Base).times(60 * 1_000_000).
		plus(exact(t.PerKm).times(b.DistanceMM).times(60)).
		plus(exact(t.PerMin).times(b.DurationS).times(1_000_000)).
		times(max(int64(b.Multiplier), 0)) // below zero the minimum counts as well
	return sum.atLeast(exact(t.Minimum).times(denominator)).cents(denominator)
}

// natural is a whole number of 128 bits, not negative, that knows when it is too large:
// 10^23 times the greatest amount.
type natural struct {
	hi, lo   uint64
	overflow bool
}

func exact(m schemas.Micros) natural { return natural{lo: uint64(m), overflow: m < 0} }

func (n natural) times(factor int64) natural {
	f := uint64(factor)
	carry, lo := bits.Mul64(n.lo, f)
	over, hi := bits.Mul64(n.hi, f)
	hi, lost := bits.Add64(hi, carry, 0)
	return natural{hi, lo, factor != 0 && n.overflow || factor < 0 || over|lost != 0}
}

func (n natural) plus(m natural) natural {
	lo, carry := bits.Add64(n.lo, m.lo, 0)
	hi, lost := bits.Add64(n.hi, m.hi, carry)
	return natural{hi, lo, n.overflow || m.overflow || lost != 0}
}

func (n natural) atLeast(m natural) natural {
	if !n.overflow && (m.overflow || n.hi < m.hi || (n.hi == m.hi && n.lo < m.lo)) {
		return m
	}
	return n
}

// cents rounds micros over a denominator to cents, half to even.
func (n natural) cents(denominator uint64) (schemas.Cents, bool) {
	const microsPerCent = 10_000
	denominator *= microsPerCent
	if n.overflow || n.hi >= denominator { // then the quotient has more than 64 bits
		return 0, false
	}
	q, r := bits.Div64(n.hi, n.lo, denominator)
	if half := denominator / 2; r > half || (r == half && q&1 == 1) { // the denominator is even
		q++
	}
	return schemas.Cents(q), q <= uint64(schemas.MaxCents)
}
