package oracle

import (
	"math/big"

	"taximeter/schemas"
)

// Bill is the content of a final bill.
type Bill struct {
	Amount     schemas.Cents
	DistanceMM int64
	Segments   int // within DistanceMM
	DurationS  int64
	Start, End schemas.Millis
	TariffID   string
	Currency   string
	Region     string
	Category   string
	Multiplier schemas.Mils
	Points     int // accepted, within [Start, End]
	Rejected   int
	Cancelled  bool
	Inferred   bool // no INICIO: the start is the first accepted point
}

// billOf is the bill of effective ride events (ascending) and a track; nil = none is due.
func billOf(rides []schemas.Event, track []step, tariffs []schemas.Tariff) *Bill {
	first := func(k schemas.Kind, from schemas.Millis) *schemas.Event {
		for i := range rides {
			if rides[i].Kind == k && rides[i].At >= from {
				return &rides[i]
			}
		}
		return nil
	}
	always := schemas.NoTime
	start, cancel, match := first(schemas.RideStart, always), first(schemas.RideCancel, always), first(schemas.RideMatch, always)

	var b Bill
	switch {
	case cancel != nil && start == nil && first(schemas.RideEnd, always) == nil:
		b.Cancelled = true
		b.Start, b.End = cancel.At, cancel.At
	default:
		switch {
		case start != nil:
			b.Start = start.At
		case len(track) > 0:
			b.Start, b.Inferred = track[0].at, true
		default:
			return nil
		}
		end := first(schemas.RideEnd, b.Start)
		if end == nil {
			end = first(schemas.RideCancel, b.Start)
		}
		if end == nil {
			return nil
		}
		b.End = end.At
	}

	var region, category *string
	multiplier := (*schemas.Mils)(nil)
	for _, e := range []*schemas.Event{match, start, first(schemas.RideRequest, always)} {
		if e == nil {
			continue
		}
		if region == nil && e.Has.Has(schemas.HasRegion) {
			region = &e.Ride.Region
		}
		if category == nil && e.Has.Has(schemas.HasCategory) {
			category = &e.Ride.Category
		}
		if multiplier == nil && e.Has.Has(schemas.HasMultiplier) && e.Kind != schemas.RideRequest {
			multiplier = &e.Ride.Multiplier
		}
	}
	t := tariffFor(tariffs, region, category, b.Start)
	if t == nil {
		return nil
	}
	b.TariffID, b.Currency, b.Multiplier = t.TariffID, t.Currency, 1000
	if region != nil {
		b.Region = *region
	}
	if category != nil {
		b.Category = *category
	}
	if multiplier != nil {
		b.Multiplier = *multiplier
	}

	if b.Cancelled {
		if match == nil || cancel.At-match.At < schemas.Millis(t.GraceS)*schemas.Second {
			return nil
		}
		b.Amount = cents(micros(t.CancelFee))
		return &b
	}

	for _, s := range track {
		switch {
		case s.at < b.Start || s.at > b.End:
		case s.accepted:
			b.Points++
		default:
			b.Rejected++
		}
		if s.segment && s.from >= b.Start && s.at <= b.End {
			b.DistanceMM += s.mm
			b.Segments++
		}
	}
	b.DurationS = int64(b.End-b.Start) / 1000
	b.Amount = Amount(*t, b.DistanceMM, b.DurationS, multiplier)
	return &b
}

// Amount is the price of a ride; a nil multiplier is 1.
func Amount(t schemas.Tariff, distanceMM, durationS int64, multiplier *schemas.Mils) schemas.Cents {
	km := big.NewRat(distanceMM, 1_000_000)
	minutes := big.NewRat(durationS, 60)
	sum := micros(t.Base)
	sum.Add(sum, km.Mul(km, micros(t.PerKm)))
	sum.Add(sum, minutes.Mul(minutes, micros(t.PerMin)))
	if multiplier != nil {
		sum.Mul(sum, big.NewRat(int64(*multiplier), 1000))
	}
	if least := micros(t.Minimum); sum.Cmp(least) < 0 {
		sum = least
	}
	return cents(sum)
}

func micros(m schemas.Micros) *big.Rat { return big.NewRat(int64(m), 1_000_000) }

// cents rounds to two places, half to even.
func cents(amount *big.Rat) schemas.Cents {
	scaled := new(big.Rat).Mul(amount, big.NewRat(100, 1))
	floor := new(big.Int).Div(scaled.Num(), scaled.Denom()) // Euclidean: downwards, the denominator is positive
	rest := new(big.Rat).Sub(scaled, new(big.Rat).SetInt(floor))
	c := floor.Int64()
	switch rest.Cmp(big.NewRat(1, 2)) {
	case 1:
		c++
	case 0:
		if c%2 != 0 {
			c++
		}
	}
	return schemas.Cents(c)
}

// tariffFor is the newest version in force at start, from the closest level that has one.
func tariffFor(tariffs []schemas.Tariff, region, category *string, start schemas.Millis) *schemas.Tariff {
	inForce := func(r, c string) *schemas.Tariff {
		var best *schemas.Tariff
		for i := range tariffs {
			t := &tariffs[i]
			if t.Region == r && t.Category == c && t.ValidFrom <= start && (best == nil || t.ValidFrom >= best.ValidFrom) {
				best = t
			}
		}
		return best
	}
	if region != nil && category != nil {
		if t := inForce(*region, *category); t != nil {
			return t
		}
	}
	if region != nil {
		if t := inForce(*region, schemas.Any); t != nil {
			return t
		}
	}
	return inForce(schemas.Any, schemas.Any)
}

// reconcile compares what was captured with the bill at the end of time, when every
// bill is more than 24 hours old.
func reconcile(b *Bill, payments []schemas.Event) string {
	var gross, net schemas.Cents
	for _, p := range payments {
		switch {
		case p.Kind == schemas.PayCapture, p.Kind == schemas.PayAuthorization && p.Payment.Means == "DINHEIRO":
			gross += p.Payment.Amount
			net += p.Payment.Amount
		case p.Kind == schemas.PayRefund:
			net -= p.Payment.Amount
		}
	}
	switch {
	case b == nil && net == 0:
		return ""
	case b == nil:
		return "paga_sem_fatura"
	case net == b.Amount:
		return "ok"
	case gross == 0:
		return "nao_paga"
	}
	return "divergente"
}
