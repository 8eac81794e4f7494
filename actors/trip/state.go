package trip

import (
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
	noTariff   bool // a bill is due but for a tariff
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
func (s *State) AwaitsTariff() bool { return s.noTariff }

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
			d := r.detail
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

// link enters an event into the chains of its topic, if it concerns any.
func (s *State) link(e *schemas.Event, find func(schemas.EventID) (member, bool), report func(schemas.EventID, bool)) {
	m := member{id: e.EventID, rectifies: e.Rectifies, at: e.At, void: e.Kind == schemas.Void}
	if s.chainsOf(e.Topic).touches(m) {
		m.id, m.rectifies = clone(m.id), clone(m.rectifies)
		s.chain(e.Topic, m, find, report)
	}
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
