package city

import (
	"fmt"
	"math"

	"taximeter/actors/geo"
	"taximeter/actors/tariff"
	"taximeter/actors/trip"
	"taximeter/schemas"
)

// fare follows a ride as the meter will: the length between positions within [start, end].
// No car of this city is as fast as the meter's filter minds, so all positions count.
type fare struct {
	start, end schemas.Millis
	last       schemas.LatLon
	began      bool
	mm         int64
}

func (f *fare) add(at schemas.Millis, place schemas.LatLon) {
	if at < f.start || at > f.end {
		return
	}
	if f.began {
		f.mm += int64(math.Round(geo.Haversine(f.last, place) * 1000))
	}
	f.last, f.began = place, true
}

// amount is what the ride costs.
func (c *City) amount(t *ride, f *fare) schemas.Cents {
	return c.price(t, f.start, schemas.Bill{DistanceMM: f.mm, DurationS: int64((f.end - f.start) / schemas.Second), Multiplier: t.multiplier})
}

func (c *City) cancelFee(t *ride, at schemas.Millis) schemas.Cents {
	return c.price(t, at, schemas.Bill{Motive: schemas.MotiveCancelled})
}

func (c *City) price(t *ride, start schemas.Millis, b schemas.Bill) schemas.Cents {
	place := tariff.Place{Region: t.region, HasRegion: true, Category: t.category, HasCategory: true}
	amount, ok := trip.Amount(c.tariffs.Find(place, start, c.tariffs.Revision()), &b)
	if !ok {
		panic(fmt.Sprintf("no amount for %+v in %+v", b, place))
	}
	return amount
}
