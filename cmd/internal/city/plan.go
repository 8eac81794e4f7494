package city

import (
	"cmp"
	"slices"

	"taximeter/internal/plane"
	"taximeter/schemas"
)

// step is one thing that will happen to a ride beside its positions.
type step struct {
	when      schemas.Millis // it is sent then
	at        schemas.Millis // ocorridoEm
	do        action
	kind      schemas.Kind
	id        schemas.EventID
	rectifies schemas.EventID // "" = none
	amount    schemas.Cents   // of a payment
	fare      int             // index in ride.fares, of charge and settle
}

type action uint8

const (
	tell   action = iota // a ride event
	pay                  // a payment event
	charge               // plan the payments of a ride that ended
	fee                  // plan the payments of a cancellation
	settle               // make good what a correction changed
	refund               // give all back: the ride was made void
)

// plan adds a step in its place; those due at once keep their order.
func (t *ride) plan(s step) {
	i, _ := slices.BinarySearchFunc(t.steps, s.when+1, func(have step, when schemas.Millis) int { return cmp.Compare(have.when, when) })
	t.steps = slices.Insert(t.steps, i, s)
}

// tells plans a ride event that is sent when it happens, and gives its id.
func (t *ride) tells(c *City, kind schemas.Kind, at schemas.Millis) schemas.EventID {
	return t.corrects(c, kind, at, at, "")
}

// corrects plans a ride event that takes another's place.
func (t *ride) corrects(c *City, kind schemas.Kind, at, when schemas.Millis, rectifies schemas.EventID) schemas.EventID {
	id := t.newID(c)
	t.plan(step{when: when, at: at, do: tell, kind: kind, id: id, rectifies: rectifies})
	return id
}

// newRide decides all that will happen to a ride that is requested at an instant.
func (c *City) newRide(requested schemas.Millis, length float64) *ride {
	region := &c.cfg.Regions[c.rng.IntN(len(c.cfg.Regions))]
	id := c.uuid()
	t := &ride{
		num: c.numbered, id: schemas.TripID(id), key: []byte(id), region: region.Name, category: c.category(),
		driver: c.pseudonym("m-", 20_000), passenger: c.pseudonym("p-", 500_000), device: c.pseudonym("d-", 20_000),
		plainIDs: c.chance(plainIDs), multiplier: schemas.OneMils, nextTick: schemas.EndOfTime,
	}
	if c.chance(surges) {
		t.multiplier = schemas.Mils(1100 + 100*c.rng.IntN(15))
	}
	t.tells(c, schemas.RideRequest, requested)
	roll := c.rng.Float64()
	if roll < cancelledEarly {
		t.tells(c, schemas.RideCancel, requested+c.between(10*schemas.Second, 4*schemas.Minute))
		t.road = c.newRoad(c.somewhere(region.Center), 1000)
		return t
	}
	matched := requested + c.between(5*schemas.Second, 2*schemas.Minute)
	t.tells(c, schemas.RideMatch, matched)
	t.matched, t.start = matched, matched+c.between(schemas.Minute, 8*schemas.Minute)
	duration := schemas.Millis(length * float64(c.between(5*schemas.Minute, 26*schemas.Minute)))
	t.lay(c, region, max(duration, 2*schemas.Minute))
	t.nextTick, t.lastTick = matched+c.between(0, tick), t.end+15*schemas.Second
	if roll -= cancelledEarly; roll < cancelledMatched {
		cancelled := matched + c.between(10*schemas.Second, 4*schemas.Minute)
		t.tells(c, schemas.RideCancel, cancelled)
		t.start, t.lastTick = schemas.EndOfTime, cancelled
		if grace := schemas.Millis(c.tariffOf(t, cancelled).GraceS) * schemas.Second; cancelled-matched >= grace {
			t.plan(step{when: cancelled + 5*schemas.Second, at: cancelled, do: fee})
		}
		return t
	}
	t.tells(c, schemas.RideStart, t.start)
	c.planEnd(t, roll-cancelledMatched)
	return t
}

// planEnd decides how a ride that began comes to its end.
func (c *City) planEnd(t *ride, roll float64) {
	under := func(share float64) bool { roll -= share; return roll < 0 }
	t.fares = []fare{{start: t.start, end: t.end}}
	paid := t.end + c.between(5*schemas.Second, 30*schemas.Second)
	switch {
	case under(endForgotten):
		t.lastTick = t.end
		return
	case under(cancelledRiding):
		t.end = t.start + (t.end-t.start)/2
		t.fares[0].end, t.lastTick = t.end, t.end
		t.tells(c, schemas.RideCancel, t.end)
		t.plan(step{when: t.end + 10*schemas.Second, do: charge})
		return
	case under(endCorrected):
		wrong := t.tells(c, schemas.RideEnd, t.end)
		right := t.end - c.between(10*schemas.Second, 90*schemas.Second)
		told := t.end + c.between(schemas.Minute, 30*schemas.Minute)
		t.corrects(c, schemas.RideEnd, right, told, wrong)
		t.fares = append(t.fares, fare{start: t.start, end: right})
		t.plan(step{when: told + c.between(schemas.Minute, 3*schemas.Minute), do: settle, fare: 1})
	case under(endMistaken):
		early := t.start + (t.end-t.start)/2
		wrong := t.tells(c, schemas.RideEnd, early)
		noticed := early + c.between(20*schemas.Second, (t.end-early)*3/4)
		t.corrects(c, schemas.Void, noticed, noticed, wrong)
		t.tells(c, schemas.RideEnd, t.end)
	case under(tripVoided):
		wrong := t.tells(c, schemas.RideEnd, t.end)
		told := t.end + c.between(5*schemas.Minute, 40*schemas.Minute)
		t.corrects(c, schemas.Void, told, told, wrong)
		t.plan(step{when: told + schemas.Minute, do: refund})
	case under(cancelMistaken):
		wrong := t.tells(c, schemas.RideCancel, t.matched+(t.start-t.matched)/3)
		noticed := t.matched + (t.start-t.matched)*2/3
		t.corrects(c, schemas.Void, noticed, noticed, wrong)
		t.tells(c, schemas.RideEnd, t.end)
	default:
		t.tells(c, schemas.RideEnd, t.end)
	}
	t.plan(step{when: paid, do: charge})
	if c.chance(ratings) {
		t.tells(c, schemas.RideRating, t.end+c.between(10*schemas.Second, 10*schemas.Minute))
	}
}

// lay lays the road of a ride that is to last so long, with what happens on it.
func (t *ride) lay(c *City, region *Region, duration schemas.Millis) {
	odd := c.rng.Float64()
	under := func(share float64) bool { odd -= share; return odd < 0 }
	cruise := c.uniform(7, 13)
	metres := cruise * 0.85 * float64(duration) / 1000 // the rest of the time goes at traffic lights
	pause, hurry, aside := schemas.Millis(0), schemas.Millis(0), false
	switch {
	case under(longStops):
		pause = c.between(11*schemas.Minute, 14*schemas.Minute)
	case under(speedings):
		hurry = c.between(60*schemas.Second, 90*schemas.Second)
		metres += 40 * float64(hurry) / 1000
	case under(detours):
		aside = true
	case under(silences):
		duration = max(duration, 12*schemas.Minute)
		from := t.start + duration/4
		t.quiet, t.lost = stretch{from, from + c.between(6*schemas.Minute, 8*schemas.Minute)}, true
	case under(weakSignal):
		from := t.start + c.between(0, duration)
		t.quiet, t.lost = stretch{from, from + c.between(30*schemas.Second, 100*schemas.Second)}, c.chance(0.5)
	}
	t.road = c.newRoad(c.somewhere(region.Center), metres)
	t.road.cruise = cruise
	third := t.start + duration/3
	t.road.stop, t.road.speed = stretch{third, third + pause}, stretch{third, third + hurry}
	if aside {
		t.road.leave()
	}
	t.end = t.start + duration + pause
	// The car comes from some way off, at a speed that fits in a town.
	away := c.uniform(3, 8) * float64(t.start-t.matched) / 1000
	t.from = plane.Moved(t.road.way[0], away*0.8, away*0.6)
}

func (c *City) category() string {
	roll := c.rng.Float64()
	for _, k := range categories {
		if roll -= k.share; roll < 0 {
			return k.name
		}
	}
	return categories[0].name
}
