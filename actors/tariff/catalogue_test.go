package tariff

import (
	"testing"

	"taximeter/schemas"
)

func TestFindChoosesByPlaceStartAndRevision(t *testing.T) {
	var c Catalogue
	put := func(rev schemas.Offset, id, region, category string, from schemas.Millis) {
		c.Put(rev, schemas.Tariff{TariffID: id, Region: region, Category: category, ValidFrom: from})
	}
	put(0, "any", "*", "*", 0)
	put(1, "porto-any", "porto", "*", 100)
	put(2, "porto-taxi", "porto", "taxi", 200)
	put(3, "porto-taxi-2", "porto", "taxi", 300)
	put(4, "porto-taxi-corrected", "porto", "taxi", 200)
	c.Withdraw(5, Key{"porto", "taxi", 300})
	put(6, "any-taxi", "*", "taxi", 0) // not a level of the search

	full := func(r, k string) Place { return Place{r, k, true, true} }
	for _, x := range []struct {
		place Place
		start schemas.Millis
		asOf  schemas.Offset
		want  string
	}{
		{full("porto", "taxi"), 250, 3, "porto-taxi"},
		{full("porto", "taxi"), 250, 4, "porto-taxi-corrected"},
		{full("porto", "taxi"), 300, 4, "porto-taxi-2"},
		{full("porto", "taxi"), 300, 5, "porto-taxi-corrected"},
		{full("porto", "taxi"), 199, 9, "porto-any"},
		{full("porto", "moto"), 199, 9, "porto-any"},
		{full("porto", "taxi"), 99, 9, "any"},
		{full("lisboa", "taxi"), 99, 9, "any"},
		{Place{Region: "porto", HasRegion: true}, 500, 9, "porto-any"},
		{Place{Category: "taxi", HasCategory: true}, 500, 9, "any"},
		{full("porto", "taxi"), -1, 9, ""},
		{full("porto", "taxi"), 250, NoRevision, ""},
	} {
		got := ""
		if f := c.Find(x.place, x.start, x.asOf); f != nil {
			got = f.TariffID
		}
		if got != x.want {
			t.Errorf("Find(%v, %d, as of %d) = %q, want %q", x.place, x.start, x.asOf, got, x.want)
		}
	}

	var again Catalogue
	for _, e := range c.Entries() {
		again.Take(e)
		again.Take(e)
	}
	if again.Revision() != c.Revision() || len(again.Entries()) != len(c.Entries()) {
		t.Errorf("restored catalogue differs: %v, %v", again.Entries(), c.Entries())
	}
}
