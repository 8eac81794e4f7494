package trip

import (
	"slices"
	"strings"

	"taximeter/actors/rule"
	"taximeter/actors/tariff"
	"taximeter/actors/window"
	"taximeter/schemas"
)

// Settings are the meter's parameters. They come from configuration and are the same on
// every node.
type Settings struct {
	MaxSpeedKmh     float64        // track filter; 0 = no filter
	MaxPoints       int            // telemetry events a trip may have
	AllowedLateness schemas.Millis // for a window's late events
	// Horizon is how long after its last ride or telemetry event the detail of a billed
	// or cancelled trip is kept; 0 = for ever (a replay has no horizon).
	Horizon schemas.Millis
	// OpenHorizon is the same for a trip that never ended.
	OpenHorizon schemas.Millis
	// SummaryHorizon is how much longer the summary stays.
	SummaryHorizon schemas.Millis
	// NoEndAfter is the silence after which a trip without an end is an anomaly.
	NoEndAfter schemas.Millis
}

// DefaultSettings are the contract's figures for live operation.
func DefaultSettings() Settings {
	return Settings{
		MaxSpeedKmh:     160,
		MaxPoints:       20_000,
		AllowedLateness: 2 * schemas.Minute,
		Horizon:         24 * schemas.Hour,
		OpenHorizon:     7 * schemas.Day,
		SummaryHorizon:  35 * schemas.Day,
		NoEndAfter:      6 * schemas.Hour,
	}
}

// Beyond reports whether an event is so old that the ids of its trip may be forgotten.
func (s *Settings) Beyond(at, watermark schemas.Millis) bool {
	return s.Horizon > 0 && at <= watermark.Add(-s.Horizon)
}

// Env is all that a step may look at besides the trip, and where its effects go. It
// belongs to the partition and is reused from step to step.
type Env struct {
	Settings  *Settings
	Tariffs   *tariff.Catalogue
	Rules     *rule.Book
	Watermark schemas.Millis // of the partition, before the event that is applied
	Out       *Effects

	// Public is not empty after a restore only, see Public. Reached tells Advance that the
	// replay has come to where the line stood that was left behind.
	Public  map[schemas.TripID]*Public
	Reached bool

	facts rule.Facts // scratch of the step under way
	words words
}

// Effects are what steps decided, in emission order per kind. The caller drains them.
type Effects struct {
	Windows   []schemas.Window
	Bills     []schemas.Bill
	Alerts    []schemas.Alert
	Anomalies []schemas.Anomaly
}

func (e *Effects) anomaly(k schemas.AnomalyKind, trip schemas.TripID, id schemas.EventID) {
	e.Anomalies = append(e.Anomalies, schemas.Anomaly{Kind: k, TripID: trip, EventID: schemas.EventID(strings.Clone(string(id)))})
}

// State is one trip. It belongs to one goroutine.
//
// Invariant: between two steps story and ridden are what the events say.
type State struct {
	id       schemas.TripID
	track    track
	links    map[schemas.EventID]schemas.EventID // retifica of telemetry events; the other topics hold their own
	names    texts                               // ids of rides and payments
	rides    []ride                              // sorted by (at, id)
	details  []schemas.RideDetail                // of rides, each once: most events of a trip say the same
	payments []payment                           // sorted by (at, id)
	chains   *[schemas.NumInputs]chains          // nil as long as no event links to another
	story    story                               // what the ride events and the first point say; kept current
	billing  billing
	alerts   rule.Memory
	ridden   stretch // of the track, from the start to the end or so far

	lastMove   schemas.Millis // newest ride or telemetry event; NoTime = none yet
	duplicates uint32
	fresh      uint32 // points that no part holds
	parts      uint8  // written of the points
	stage      stage
	noEndTold  bool
	noSummary  bool           // began with a payment older than the horizon: the summary is gone
	droppedAt  schemas.Millis // event time at which the detail was no longer due; valid when not detailed
	due        schemas.Millis // when Advance has something to do, never too late
}

// stage is how much of the trip is still held.
type stage uint8

const (
	detailed   stage = iota
	summarised       // detail dropped: bill, payments and their ids
	expired          // the partition may forget the trip
)

// ride is one accepted event of corridas.eventos. It holds no pointer.
type ride struct {
	at            schemas.Millis
	id, rectifies idRef // in the trip's names
	detail        detailRef
	has           schemas.Fields
	kind          schemas.Kind
	void          bool // rectified by another
	verdict       schemas.Verdict
}

// payment is one accepted event of pagamentos.eventos.
type payment struct {
	at            schemas.Millis
	amount        schemas.Cents
	means         string
	id, rectifies idRef // in the trip's names
	kind          schemas.Kind
	void          bool
	verdict       schemas.Verdict
}

// New is a trip that nothing is known of yet.
func New(id schemas.TripID) *State {
	s := &State{id: schemas.TripID(strings.Clone(string(id))), lastMove: schemas.NoTime, due: schemas.EndOfTime}
	s.recount()
	return s
}

func (s *State) ID() schemas.TripID { return s.id }

// Due is the watermark at which Advance must be called next; never later than needed.
func (s *State) Due() schemas.Millis { return s.due }

// Expired reports whether even the summary may be forgotten.
func (s *State) Expired() bool { return s.stage == expired }

// AwaitsTariff reports whether a bill is due but for a tariff.
func (s *State) AwaitsTariff() bool { return s.billing.noTariff }

// MarkNoSummary notes that the trip began with a payment older than the horizon.
func (s *State) MarkNoSummary() { s.noSummary = true }

// Take gives an event its verdict and, when it is accepted, its effect.
func (s *State) Take(env *Env, e *schemas.Event) schemas.Verdict {
	if v := s.admit(env, e); v != schemas.Counted {
		return v
	}
	v := classify(e.At, env.Watermark, env.Settings.AllowedLateness)
	s.apply(env, e, v)
	return v
}

// admit says whether an event may be applied: Counted, or why not. A duplicate with
// other content is an anomaly.
func (s *State) admit(env *Env, e *schemas.Event) schemas.Verdict {
	// A trip known by payments alone may be one whose ids were forgotten.
	forgotten := s.stage != detailed || (s.lastMove == schemas.NoTime && env.Settings.Beyond(e.At, env.Watermark))
	if forgotten && e.Topic != schemas.Payments {
		return schemas.DLQBeyondHorizon
	}
	same, seen := s.seen(e)
	if seen {
		s.duplicates++
		if !same {
			env.Out.anomaly(schemas.AnomalyIDReused, s.id, e.EventID)
		}
		return schemas.Duplicate
	}
	if e.Topic == schemas.Telemetry && s.track.len() >= env.Settings.MaxPoints {
		return schemas.DLQTrackTooLong
	}
	return schemas.Counted
}

func (s *State) seen(e *schemas.Event) (same, seen bool) {
	switch e.Topic {
	case schemas.Telemetry:
		if ref, ok := s.track.ids.find(e.EventID); ok {
			p := s.track.at(e.At, ref)
			return p != nil && p.pos == e.LatLon && sameLink(s.links[e.EventID], e), true
		}
	case schemas.Rides:
		if r := s.rideOf(e.EventID); r != nil {
			d := s.detail(r.detail)
			return r.at == e.At && r.kind == e.Kind && sameLink(s.names.id(r.rectifies), e) &&
				r.has == e.Has && d.Region == e.Ride.Region && d.Category == e.Ride.Category && d.Multiplier == e.Ride.Multiplier, true
		}
	case schemas.Payments:
		if p := s.paymentOf(e.EventID); p != nil {
			return p.at == e.At && p.kind == e.Kind && sameLink(s.names.id(p.rectifies), e) &&
				p.amount == e.Payment.Amount && p.means == e.Payment.Means, true
		}
	}
	return false, false
}

// sameLink compares the link that an event was taken with to that of one with its id. A
// link to itself is no link.
func sameLink(taken schemas.EventID, e *schemas.Event) bool {
	return taken == e.Rectifies || (e.Rectifies == e.EventID && (taken == "" || taken == e.EventID))
}

// apply takes an admitted event with its verdict.
func (s *State) apply(env *Env, e *schemas.Event, v schemas.Verdict) {
	switch e.Topic {
	case schemas.Telemetry:
		s.lastMove = max(s.lastMove, e.At)
		s.applyPosition(env, e, v)
	case schemas.Rides:
		s.lastMove = max(s.lastMove, e.At)
		s.applyRide(env, e, v)
	case schemas.Payments:
		s.applyPayment(env, e, v)
	}
}

func (s *State) applyPosition(env *Env, e *schemas.Event, v schemas.Verdict) {
	i := s.track.insert(point{at: e.At, pos: e.LatLon, id: s.track.ids.add(e.EventID), verdict: v, part: noPart})
	s.fresh++
	m := member{id: e.EventID, rectifies: e.Rectifies, at: e.At}
	chained := s.chainsOf(schemas.Telemetry).touches(m)
	if i == len(s.track.points)-1 && !chained {
		s.applyInOrder(env, e, v, i)
		return
	}
	var touched [4]earlier
	r := revision{t: &s.track, maxKmh: env.Settings.MaxSpeedKmh, until: s.story.until(), windows: touched[:0]}
	if chained {
		s.linkPosition(m, &r)
	}
	if s.track.points[i].state == undecided {
		r.decide(i)
	}
	r.changed(func(w *tripWindow) { s.windowChanged(env, w, v) })
	last := s.track.stateBefore(i).last
	if !chained && s.story.rode() && last >= 0 && s.track.points[last].at >= s.story.start {
		s.ridden.revise(r.ridden) // its start is not concerned
		s.settle(env)
	} else {
		s.retell(env)
	}
	kmh := 0.0
	if s.track.points[i].state == accepted {
		kmh = s.track.speedInto(i, last)
	}
	s.point(env, e, i, kmh)
	s.reschedule(env)
}

// linkPosition enters a position into the chains and revises what they decide otherwise.
func (s *State) linkPosition(m member, r *revision) {
	m.id, m.rectifies = clone(m.id), clone(m.rectifies)
	if m.links() {
		if s.links == nil {
			s.links = make(map[schemas.EventID]schemas.EventID)
		}
		s.links[m.id] = m.rectifies
	}
	s.chain(schemas.Telemetry, m, s.findPosition, func(id schemas.EventID, effective bool) {
		ref, _ := s.track.ids.find(id)
		if j := s.track.indexOf(ref); effective {
			r.decide(j)
		} else {
			r.void(j)
		}
	})
}

// applyInOrder is the hot path: the newest point so far, in no chain.
func (s *State) applyInOrder(env *Env, e *schemas.Event, v schemas.Verdict, i int) {
	f := s.track.stateBefore(i)
	last := f.last
	s.track.decide(&f, i, env.Settings.MaxSpeedKmh)
	known := len(s.track.windows)
	w := s.track.extend(i, last, f.kmh)
	if w.version > 0 || env.Watermark >= w.end() {
		s.windowChanged(env, w, v)
	}
	if s.story.phase == running {
		s.ridden.extend(&s.track.points[i], s.story.start)
	} else {
		s.retell(env)
	}
	s.point(env, e, i, f.kmh)
	if len(s.track.windows) != known || s.story.phase != running {
		s.reschedule(env)
	} else {
		s.due = min(s.due, s.alerts.NextDue(env.Rules, &env.facts)) // as point has just filled them
	}
}

func (s *State) findPosition(id schemas.EventID) (member, bool) {
	ref, ok := s.track.ids.find(id)
	if !ok {
		return member{}, false
	}
	p := &s.track.points[s.track.indexOf(ref)]
	return member{id: id, rectifies: s.links[id], at: p.at}, true
}

// windowChanged publishes a window whose content changed, if it has been due.
func (s *State) windowChanged(env *Env, w *tripWindow, v schemas.Verdict) {
	if w.version > 0 || env.Watermark >= w.end() {
		s.publishWindow(env, w, v)
	}
}

func (s *State) publishWindow(env *Env, w *tripWindow, v schemas.Verdict) {
	w.version++
	if s.silentOn(env, w.start) {
		return
	}
	env.Out.Windows = append(env.Out.Windows, s.window(w, v))
}

func (s *State) window(w *tripWindow, v schemas.Verdict) schemas.Window {
	out := schemas.Window{TripID: s.id, Start: w.start, Version: int(w.version), Verdict: v,
		Points: int(w.points), Rejected: int(w.rejected), DistanceMM: w.mm, TimeMS: w.timeMS}
	// One object holds what the pointers point to: a window has all of them or few.
	held := &struct {
		maxKmh, meanKmh float64
		first, last     schemas.Millis
	}{w.maxKmh, 0, w.start.Add(schemas.Millis(w.first)), w.start.Add(schemas.Millis(w.last))}
	if w.timeMS > 0 {
		held.meanKmh = float64(w.mm) / float64(w.timeMS) * 3.6
		out.MaxKmh, out.MeanKmh = &held.maxKmh, &held.meanKmh
	}
	if w.points > 0 {
		out.First, out.Last = &held.first, &held.last
	}
	return out
}

func (s *State) applyRide(env *Env, e *schemas.Event, v schemas.Verdict) {
	r := ride{id: s.names.add(e.EventID), rectifies: s.nameOf(e.Rectifies), at: e.At, kind: e.Kind, verdict: v, has: e.Has,
		detail: s.detailOf(&env.words, &e.Ride)}
	s.insertRide(r)
	switch e.Kind {
	case schemas.KindUnknown:
		env.Out.anomaly(schemas.AnomalyUnknownKind, s.id, e.EventID)
	default:
		s.link(e, s.findRide, func(id schemas.EventID, effective bool) {
			s.rideOf(id).void = !effective
		})
	}
	s.retell(env)
	s.tellExtra(env, &r)
	s.event(env, e)
	s.reschedule(env)
}

func (s *State) insertRide(r ride) {
	at, _ := slices.BinarySearchFunc(s.rides, r, func(a, b ride) int { return s.order(a.at, a.id, b.at, b.id) })
	s.rides = slices.Insert(roomFor(s.rides, 1, 2), at, r)
}

// nameOf keeps an id that may be none.
func (s *State) nameOf(id schemas.EventID) idRef {
	if id == "" {
		return 0
	}
	return s.names.add(id)
}

// detailOf keeps what a ride event says, once.
func (s *State) detailOf(w *words, d *schemas.RideDetail) detailRef {
	for i := range s.details {
		if k := &s.details[i]; k.Region == d.Region && k.Category == d.Category && k.Multiplier == d.Multiplier && slices.Equal(k.Route, d.Route) {
			return detailRef(i + 1)
		}
	}
	s.details = append(roomFor(s.details, 1, 1), schemas.RideDetail{Region: w.keep(d.Region), Category: w.keep(d.Category),
		Multiplier: d.Multiplier, Route: slices.Clone(d.Route)})
	return detailRef(len(s.details))
}

// detailRef is a place in the trip's details, plus one; 0 = of none.
type detailRef int32

// detail is what a ride event says; of none nothing.
func (s *State) detail(ref detailRef) schemas.RideDetail {
	if ref == 0 {
		return schemas.RideDetail{}
	}
	return s.details[ref-1]
}

// tellExtra notes an effective start or end that has no effect of its own as an anomaly.
func (s *State) tellExtra(env *Env, r *ride) {
	if s.rides[slices.IndexFunc(s.rides, func(o ride) bool { return o.id == r.id })].void {
		return
	}
	kind := schemas.AnomalyExtraStart
	switch r.kind {
	case schemas.RideStart:
	case schemas.RideEnd:
		kind = schemas.AnomalyExtraEnd
		if s.story.phase >= running && r.at < s.story.start {
			env.Out.anomaly(schemas.AnomalyEndBeforeStart, s.id, s.names.id(r.id))
			return
		}
	default:
		return
	}
	for i := range s.rides {
		o := &s.rides[i]
		if r.kind == schemas.RideEnd && s.story.phase >= running && o.at < s.story.start {
			continue // no end of this trip
		}
		if o.kind == r.kind && !o.void && o.id != r.id {
			env.Out.anomaly(kind, s.id, s.names.id(r.id))
			return
		}
	}
}

func (s *State) applyPayment(env *Env, e *schemas.Event, v schemas.Verdict) {
	p := payment{id: s.names.add(e.EventID), rectifies: s.nameOf(e.Rectifies), at: e.At, kind: e.Kind, verdict: v,
		amount: e.Payment.Amount, means: env.words.keep(e.Payment.Means)}
	s.insertPayment(p)
	switch e.Kind {
	case schemas.KindUnknown:
		env.Out.anomaly(schemas.AnomalyUnknownKind, s.id, e.EventID)
	default:
		s.link(e, s.findPayment, func(id schemas.EventID, effective bool) {
			s.paymentOf(id).void = !effective
		})
	}
	s.paid(env, e)
	s.event(env, e)
	s.reschedule(env)
}

func (s *State) insertPayment(p payment) {
	at, _ := slices.BinarySearchFunc(s.payments, p, func(a, b payment) int { return s.order(a.at, a.id, b.at, b.id) })
	s.payments = slices.Insert(roomFor(s.payments, 1, 1), at, p)
}

// link enters an event into the chains of its topic, if it concerns any.
func (s *State) link(e *schemas.Event, find func(schemas.EventID) (member, bool), report func(schemas.EventID, bool)) {
	m := member{id: e.EventID, rectifies: e.Rectifies, at: e.At, void: e.Kind == schemas.Void}
	if s.chainsOf(e.Topic).touches(m) {
		m.id, m.rectifies = clone(m.id), clone(m.rectifies)
		s.chain(e.Topic, m, find, report)
	}
}

func (s *State) rideMember(r *ride) member {
	return member{id: s.names.id(r.id), rectifies: s.names.id(r.rectifies), at: r.at, void: r.kind == schemas.Void}
}

func (s *State) paymentMember(p *payment) member {
	return member{id: s.names.id(p.id), rectifies: s.names.id(p.rectifies), at: p.at, void: p.kind == schemas.Void}
}

// findRide finds an event that a link may reach: an unknown kind voids nothing and
// cannot be voided, so for the chains it has not come.
func (s *State) findRide(id schemas.EventID) (member, bool) {
	if r := s.rideOf(id); r != nil && r.kind != schemas.KindUnknown {
		return s.rideMember(r), true
	}
	return member{}, false
}

func (s *State) findPayment(id schemas.EventID) (member, bool) {
	if p := s.paymentOf(id); p != nil && p.kind != schemas.KindUnknown {
		return s.paymentMember(p), true
	}
	return member{}, false
}

func (s *State) rideOf(id schemas.EventID) *ride {
	var buf [64]byte
	entry := appendEntry(buf[:0], id)
	for i := range s.rides {
		if s.names.is(s.rides[i].id, entry) {
			return &s.rides[i]
		}
	}
	return nil
}

func (s *State) paymentOf(id schemas.EventID) *payment {
	var buf [64]byte
	entry := appendEntry(buf[:0], id)
	for i := range s.payments {
		if s.names.is(s.payments[i].id, entry) {
			return &s.payments[i]
		}
	}
	return nil
}

// order compares rides or payments by (at, id).
func (s *State) order(at schemas.Millis, id idRef, bAt schemas.Millis, bID idRef) int {
	switch {
	case at < bAt, at == bAt && s.names.less(id, bID):
		return -1
	case at > bAt, id != bID:
		return 1
	}
	return 0
}

func clone(id schemas.EventID) schemas.EventID { return schemas.EventID(strings.Clone(string(id))) }

// classify is the verdict on an admitted event by its window and the watermark before it.
func classify(at, watermark, lateness schemas.Millis) schemas.Verdict {
	switch window.Classify(windows.Of(int64(at)), int64(watermark), int64(lateness)) {
	case window.OnTime:
		return schemas.Counted
	case window.Late:
		return schemas.Late
	}
	return schemas.Rectified
}
