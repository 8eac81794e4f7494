package city

import (
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

// amount is what the ride costs; false if that is beyond all bills.
func (c *City) amount(t *ride, f *fare) (schemas.Cents, bool) {
	return c.price(t, f.start, schemas.Bill{DistanceMM: f.mm, DurationS: int64((f.end - f.start) / schemas.Second), Multiplier: t.multiplier})
}

func (c *City) cancelFee(t *ride, at schemas.Millis) (schemas.Cents, bool) {
	return c.price(t, at, schemas.Bill{Motive: schemas.MotiveCancelled})
}

func (c *City) price(t *ride, start schemas.Millis, b schemas.Bill) (schemas.Cents, bool) {
	by := c.tariffOf(t, start)
	t.currency = by.Currency
	return trip.Amount(by, &b)
}

// tariffOf is there for every ride: Config.Validate says so.
func (c *City) tariffOf(t *ride, start schemas.Millis) *schemas.Tariff {
	return c.tariffs.Find(placeOf(t.region, t.category), start, c.tariffs.Revision())
}

func placeOf(region, category string) tariff.Place {
	return tariff.Place{Region: region, HasRegion: true, Category: category, HasCategory: true}
}

func priceList(tariffs []schemas.Tariff) *tariff.Catalogue {
	var list tariff.Catalogue
	for i, t := range tariffs {
		list.Put(schemas.Offset(i), t)
	}
	return &list
}
