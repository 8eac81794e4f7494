package trip

import (
	"taximeter/actors/tariff"
	"taximeter/schemas"
)

// phase is how far the ride has come, by its effective events.
type phase uint8

const (
	waiting   phase = iota // no start known
	running                // started, no end known
	ended                  // by TERMINO, or by CANCELAMENTO after the start
	cancelled              // never started
)

func (p phase) String() string {
	return [...]string{"aguardando", "em_curso", "encerrada", "cancelada"}[p]
}

// story is what the effective ride events (and, without an INICIO, the first accepted
// point) say of the trip.
type story struct {
	start, end schemas.Millis // start valid from running on; end valid from ended on
	matchAt    schemas.Millis // earliest MATCH; NoTime = none
	multiplier schemas.Mils
	startRef   idRef // the event it was taken from: of the track when inferred, else of names
	phase      phase
	inferred   bool // the start is the first accepted point
	// region, category and route are those of these details; nothingSaid when no event tells them.
	region, category, route *schemas.RideDetail
}

// nothingSaid is what no ride event says.
var nothingSaid schemas.RideDetail

func (t *story) ended() bool { return t.phase >= ended }

// rode reports whether there was a ride: a start, and not just a cancellation.
func (t *story) rode() bool { return t.phase == running || t.phase == ended }

// until is the last instant of a ride.
func (t *story) until() schemas.Millis {
	if t.phase == running {
		return schemas.EndOfTime
	}
	return t.end
}

// tell reads the story from the events.
func (s *State) tell() story {
	var first [schemas.Void + 1]*ride // earliest effective of each kind
	for i := range s.rides {
		if r := &s.rides[i]; !r.void && first[r.kind] == nil {
			first[r.kind] = r
		}
	}
	t := story{multiplier: schemas.OneMils, matchAt: schemas.NoTime, region: &nothingSaid, category: &nothingSaid, route: &nothingSaid}
	for _, k := range []schemas.Kind{schemas.RideRequest, schemas.RideStart, schemas.RideMatch} {
		if r := first[k]; r != nil { // later kinds in this list win
			if r.has.Has(schemas.HasRegion) {
				t.region = r.detail
			}
			if r.has.Has(schemas.HasCategory) {
				t.category = r.detail
			}
			if r.has.Has(schemas.HasRoute) {
				t.route = r.detail
			}
			if r.has.Has(schemas.HasMultiplier) && k != schemas.RideRequest {
				t.multiplier = r.detail.Multiplier
			}
		}
	}
	if m := first[schemas.RideMatch]; m != nil {
		t.matchAt = m.at
	}
	if c := first[schemas.RideCancel]; c != nil && first[schemas.RideStart] == nil && first[schemas.RideEnd] == nil {
		t.phase, t.start, t.end = cancelled, c.at, c.at
		return t
	}
	if r := first[schemas.RideStart]; r != nil {
		t.phase, t.start, t.startRef = running, r.at, r.id
	} else if p := s.track.firstAccepted(); p.id != 0 {
		t.phase, t.start, t.startRef, t.inferred = running, p.at, p.id, true
	} else {
		return t
	}
	for _, k := range []schemas.Kind{schemas.RideEnd, schemas.RideCancel} {
		for i := range s.rides {
			if r := &s.rides[i]; r.kind == k && !r.void && r.at >= t.start {
				t.phase, t.end = ended, r.at
				return t
			}
		}
	}
	return t
}

// place is where the tariff of the trip is looked for.
func (s *State) place() tariff.Place {
	t := &s.story
	return tariff.Place{Region: t.region.Region, HasRegion: t.region != &nothingSaid, Category: t.category.Category, HasCategory: t.category != &nothingSaid}
}

// retell reads the story again after a change of the effective events, and settles.
func (s *State) retell(env *Env) {
	s.recount()
	s.settle(env)
}

// recount reads the story and the ridden stretch from the events.
func (s *State) recount() {
	s.story = s.tell()
	s.ridden = stretch{}
	if s.story.rode() {
		s.ridden = s.track.within(s.story.start, s.story.until())
	}
}

// billing is what was billed so far.
type billing struct {
	last     *schemas.Bill // newest version; nil = none yet
	*history               // valid with it
}

type history struct {
	versions []billVersion  // all of them, for explaining
	revision schemas.Offset // of the tariff catalogue, fixed by version 1
}

type billVersion struct {
	amount                schemas.Cents
	distanceMM, durationS int64
	motive                schemas.Motive
}

func (b *billing) version() int {
	if b.last == nil {
		return 0
	}
	return b.last.Version
}

// settle publishes a bill when what is owed differs from what was billed in anything but
// its history: whatever the order of events, the last version tells the same.
func (s *State) settle(env *Env) {
	next := s.owed(env)
	last := s.billing.last
	switch {
	case next == nil && (last == nil || last.Motive == schemas.MotiveVoided):
		return
	case next == nil:
		voided := *last
		next = &voided
		next.Amount, next.DistanceMM, next.DurationS, next.Points, next.Rejected = 0, 0, 0, 0, 0
		next.Motive = schemas.MotiveVoided
	case last != nil && *next == contentOf(*last):
		return
	}
	next.Version = s.billing.version() + 1
	next.EventID = schemas.BillEventID(s.id, next.Version)
	next.Rectification = last != nil
	next.Difference = next.Amount
	if last != nil {
		next.Difference -= last.Amount
	} else {
		s.billing.history = &history{revision: env.Tariffs.Revision()}
	}
	s.billing.last = next
	s.billing.versions = append(s.billing.versions, billVersion{next.Amount, next.DistanceMM, next.DurationS, next.Motive})
	if !s.silentOnBills(env) {
		env.Out.Bills = append(env.Out.Bills, *next)
	}
}

// contentOf is a bill without what tells its history.
func contentOf(b schemas.Bill) schemas.Bill {
	b.Version, b.EventID, b.Difference, b.Rectification = 0, "", 0, false
	return b
}

// owed is the bill that the events and the watermark make due, without its version; nil
// when none is.
func (s *State) owed(env *Env) *schemas.Bill {
	t := &s.story
	s.noTariff = s.noTariff && t.ended()
	if !t.ended() || env.Watermark < t.end || (t.phase == cancelled && t.matchAt == schemas.NoTime) {
		return nil
	}
	price := s.price(env)
	if price == nil {
		if !s.noTariff {
			s.noTariff = true
			env.Out.anomaly(schemas.AnomalyNoTariff, s.id, "")
		}
		return nil
	}
	s.noTariff = false
	b := &schemas.Bill{TripID: s.id, Currency: price.Currency, TariffID: price.TariffID, Region: t.region.Region,
		Category: t.category.Category, Multiplier: t.multiplier, Start: t.start, End: t.end}
	if t.phase == cancelled {
		if t.end-t.matchAt < schemas.Millis(price.GraceS)*schemas.Second {
			return nil
		}
		b.Motive = schemas.MotiveCancelled
	} else {
		b.DistanceMM, b.Points, b.Rejected = s.ridden.mm, int(s.ridden.points), int(s.ridden.rejected)
		b.DurationS = int64((t.end - t.start) / schemas.Second)
		if t.inferred {
			b.Motive = schemas.MotiveNoStartSeen
		}
	}
	amount, fits := Amount(price, b)
	if !fits {
		env.Out.anomaly(schemas.AnomalyAmountTooLarge, s.id, "")
		return nil
	}
	b.Amount = amount
	return b
}

// price is the tariff of the trip: in the newest catalogue, or once billed in the
// catalogue as of the first bill.
func (s *State) price(env *Env) *schemas.Tariff {
	asOf := env.Tariffs.Revision()
	if s.billing.last != nil {
		asOf = s.billing.revision
	}
	return env.Tariffs.Find(s.place(), s.story.start, asOf)
}
