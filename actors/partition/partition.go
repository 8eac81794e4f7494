package partition

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"taximeter/actors/rule"
	"taximeter/actors/tariff"
	"taximeter/actors/trip"
	"taximeter/schemas"
)

// Settings of a partition; the same on every node.
type Settings struct {
	Trip       trip.Settings
	Bound      schemas.Millis // how far events may come out of order: watermark = max - Bound
	ClockAhead schemas.Millis // how far ocorridoEm may lie past the broker's append time
	IdleAfter  schemas.Millis // wall time without a rise after which a source is idle
	FetchFresh schemas.Millis // how old the last successful fetch may be to call a source caught up
	MaxAhead   schemas.Millis // event time that one topic may run ahead while catching up
}

// DefaultSettings are the contract's figures for live operation.
func DefaultSettings() Settings {
	return Settings{
		Trip:       trip.DefaultSettings(),
		Bound:      2 * schemas.Minute,
		ClockAhead: 2 * schemas.Minute,
		IdleAfter:  30 * schemas.Second,
		FetchFresh: 10 * schemas.Second,
		MaxAhead:   5 * schemas.Minute,
	}
}

// Runner runs one step of one trip. The shell's goes through the trip's actor; a panic in
// a step is a value here, with the stack, and leaves the trip as the step left it.
type Runner interface {
	Take(s *Slot, env *trip.Env, e *schemas.Event) (v schemas.Verdict, panicked string)
	Advance(s *Slot, env *trip.Env) (panicked string)
	// Look reads a little of what a step of the slot will need beside the trip; see look.
	Look(s *Slot)
	// Evict tells that the slot leaves memory.
	Evict(s *Slot)
}

// Store gives back what earlier seals of this partition wrote.
type Store interface {
	Get(key []byte) (value []byte, found bool, err error)
	// Due lists at most limit of the trips to be woken by upTo, in order of (Due, ID),
	// beginning with from.
	Due(from DueTrip, upTo schemas.Millis, limit int) ([]DueTrip, error)
}

// DueTrip is a stored trip and when it must next be woken.
type DueTrip struct {
	Due schemas.Millis
	ID  schemas.TripID
}

// Partition is the whole state of one task. It belongs to one goroutine.
type Partition struct {
	id       schemas.Partition
	settings Settings
	runner   Runner
	store    Store // nil = nothing was ever stored
	layout   Layout

	env       trip.Env
	effects   trip.Effects // bills and windows wait here until the seal that holds them is committed
	letters   []schemas.DeadLetter
	catalogue tariff.Catalogue
	clock     clock
	trips     map[schemas.TripID]*Slot
	awaiting  map[schemas.TripID]bool // trips that only lack a tariff
	timers    timers
	loadedTo  schemas.Millis // every stored trip due up to here is in memory

	positions [schemas.NumInputs]Position
	ledger    Ledger
	found     [lookahead]*Slot // by lookAhead: the trips of the records that come next; nil = was not in memory
	looked    schemas.Millis   // by look; means nothing
	seals     int32            // made by this partition object
	open      []openSeal
	cutting   *cutting // the seal that is being written; nil = none
	sweep     *sweep   // that is under way; nil = none
	dirty     []*Slot  // changed since the last cut
	scratch   []byte   // of the row being written, empty in between
	tell      Tell
	told      [schemas.NumInputs]verdictLog // since the base's cut
	summaries map[schemas.TripID]summary    // told since the base's cut
	alerts    alerts
	abandoned *Abandoned // what a restore left behind; nil = nothing, or it was reached
}

// Position is how far one input topic was consumed.
//
// Invariant: Next - First = the topic's records with a verdict + Control + Skipped.
type Position struct {
	First   schemas.Offset `json:"primeiro"`          // where this partition began, ever
	Next    schemas.Offset `json:"proximo"`           // first offset not consumed
	Control int64          `json:"controle"`          // transaction markers and aborted records in between
	Skipped int64          `json:"pulados,omitempty"` // left out by an operator; negative: read again
	Known   bool           `json:"conhecido"`
}

// Ledger counts what became of every record, and what was odd.
type Ledger struct {
	Verdicts  [schemas.NumVerdicts]int64
	Anomalies [schemas.NumAnomalies]int64
}

// New is a partition that has seen nothing. now is the wall clock.
func New(id schemas.Partition, mode Mode, settings Settings, rules *rule.Book, runner Runner, store Store, now schemas.Millis) *Partition {
	p := &Partition{id: id, settings: settings, runner: runner, store: store, layout: ByID, trips: make(map[schemas.TripID]*Slot),
		awaiting: make(map[schemas.TripID]bool), loadedTo: schemas.NoTime}
	p.clock = newClock(mode, &p.settings, now)
	p.env = trip.Env{Settings: &p.settings.Trip, Tariffs: &p.catalogue, Rules: rules, Out: &p.effects}
	return p
}

func (p *Partition) ID() schemas.Partition                   { return p.id }
func (p *Partition) Watermark() schemas.Millis               { return p.clock.watermark }
func (p *Partition) Ledger() Ledger                          { return p.ledger }
func (p *Partition) Position(t schemas.Topic) Position       { return p.positions[t] }
func (p *Partition) Resident() int                           { return len(p.trips) }
func (p *Partition) Pause() (topics [schemas.NumInputs]bool) { return p.clock.ahead() }
func (p *Partition) Revision() schemas.Offset                { return p.catalogue.Revision() }
func (p *Partition) SourceIdle(t schemas.Topic) (idle bool) {
	return t < numClocks && p.clock.sources[t].idle
}
func (p *Partition) SourceMax(t schemas.Topic) schemas.Millis { return p.clock.max(t) }

// StartAt sets where the consumption of a topic begins, for a partition that has none of it yet.
func (p *Partition) StartAt(t schemas.Topic, first schemas.Offset) {
	if pos := &p.positions[t]; !pos.Known {
		*pos = Position{First: first, Next: first, Known: true}
	}
}

// Jump lets a topic go on at another offset, by an operator's word.
func (p *Partition) Jump(t schemas.Topic, next schemas.Offset) {
	pos := &p.positions[t]
	pos.Skipped += int64(next - pos.Next)
	p.told[t].jump(pos.Next, next)
	pos.Next = next
}

// Consume gives every record of a batch its verdict, in order.
func (p *Partition) Consume(b *schemas.Batch, now schemas.Millis) error {
	for i := range b.Records {
		if i%lookahead == 0 {
			p.lookAhead(b.Records[i:min(i+lookahead, len(b.Records))])
		}
		r := &b.Records[i]
		pos := &p.positions[r.Topic]
		if r.Offset < pos.Next {
			continue // before the cut that we started from: already counted
		}
		v, err := p.take(r, p.found[i%lookahead], now)
		if err != nil {
			return fmt.Errorf("partition %d: %s offset %d: %w", p.id, r.Topic, r.Offset, err)
		}
		told := &p.told[r.Topic]
		told.add(pos.Next, schemas.NoRecord, int64(r.Offset-pos.Next))
		told.add(r.Offset, v, 1)
		pos.Control += int64(r.Offset - pos.Next)
		pos.Next = r.Offset + 1
		p.ledger.Verdicts[v]++
		if err := p.fire(); err != nil {
			return err
		}
	}
	for t, next := range b.Next {
		if pos := &p.positions[t]; next > pos.Next {
			p.told[t].add(pos.Next, schemas.NoRecord, int64(next-pos.Next))
			pos.Control += int64(next - pos.Next)
			pos.Next = next
		}
	}
	return p.catchUp()
}

// take is one record's way: checks in the contract's order, then its trip, which was found ahead or not.
func (p *Partition) take(r *schemas.Record, found *Slot, now schemas.Millis) (schemas.Verdict, error) {
	e := &r.Event
	if v := p.check(r); v != schemas.Counted {
		if v.DeadLetter() {
			p.bury(r, v, r.Detail)
		}
		return v, nil
	}
	slot, err := p.slot(e, found)
	if err != nil {
		return 0, err
	}
	if slot == nil {
		p.bury(r, schemas.DLQBeyondHorizon, "")
		return schemas.DLQBeyondHorizon, nil
	}
	if slot.Trip.Misses(e) {
		if err := p.recall(slot); err != nil {
			return 0, err
		}
	}
	p.env.Watermark = p.clock.watermark
	v, panicked := p.runner.Take(slot, &p.env, e)
	if panicked != "" {
		v = schemas.DLQPanic // effects until then stay: the trip remembers them as done
	}
	switch {
	case v.DeadLetter():
		p.bury(r, v, panicked)
	case v.Accepted():
		if e.Topic == schemas.Rides && e.Has.Has(schemas.HasPosition) && !e.LatLon.Valid() {
			p.ledger.Anomalies[schemas.AnomalyBadRidePosition]++
		}
		p.clock.observe(e.Topic, e.At, now)
	}
	p.settle(slot)
	return v, nil
}

var tooLong = fmt.Sprintf("an id or another text is longer than %d bytes", schemas.MaxText)

// check is what can be said of a record without its trip.
func (p *Partition) check(r *schemas.Record) schemas.Verdict {
	if r.Fault != schemas.Counted {
		return r.Fault
	}
	if v := schemas.CheckEvent(&r.Event, r.Key); v != schemas.Counted {
		if v == schemas.DLQUnreadable {
			r.Detail = tooLong
		}
		return v
	}
	switch {
	case r.AppendedAt != schemas.NoTime && r.At > r.AppendedAt.Add(p.settings.ClockAhead):
		return schemas.DLQClockAhead
	case r.Kind == schemas.PayBill && r.Own:
		return schemas.Own
	case r.Kind == schemas.PayBill:
		return schemas.DLQForeignBill
	}
	return schemas.Counted
}

// settle takes note of what a step did to a trip.
func (p *Partition) settle(s *Slot) {
	p.timers.schedule(s)
	p.changed(s)
	if s.Trip.AwaitsTariff() {
		p.awaiting[s.ID()] = true
	} else if len(p.awaiting) > 0 {
		delete(p.awaiting, s.ID())
	}
	for _, a := range p.effects.Anomalies {
		p.ledger.Anomalies[a.Kind]++
	}
	p.effects.Anomalies = p.effects.Anomalies[:0]
	for i := range p.effects.Alerts {
		p.alerts.decided(&p.effects.Alerts[i])
	}
	p.effects.Alerts = p.effects.Alerts[:0]
}

// changed notes that the next seal must write the trip.
func (p *Partition) changed(s *Slot) {
	s.touched = p.seals
	if !s.dirty {
		s.dirty = true
		p.dirty = append(p.dirty, s)
	}
}

// fire wakes every trip whose instant the watermark has reached.
func (p *Partition) fire() error {
	if err := p.fetchDue(); err != nil {
		return err
	}
	for n := 0; p.timers.due(p.clock.watermark); n++ {
		if n%lookahead == 0 {
			p.lookAtDue()
		}
		if s := p.timers.pop(); s != nil {
			p.advance(s)
		}
	}
	return nil
}

func (p *Partition) advance(s *Slot) {
	if p.writeFirst(s); s.Trip.Expired() {
		return
	}
	p.env.Watermark = p.clock.watermark
	if panicked := p.runner.Advance(s, &p.env); panicked != "" {
		// A timer that panics would do so for ever: say so, and leave the trip be until its
		// next event.
		p.letters = append(p.letters, schemas.DeadLetter{Partition: p.id, Offset: -1, Reason: schemas.DLQPanic,
			TripID: s.ID(), Detail: panicked, AppendedAt: schemas.NoTime})
		p.changed(s)
		return
	}
	p.settle(s)
}

const (
	// fetchAhead is how much event time the store is asked ahead, so that it is asked rarely.
	fetchAhead = schemas.Minute
	fetchChunk = 1024
)

// fetchDue brings back stored trips that are to be woken soon.
func (p *Partition) fetchDue() error {
	w := p.clock.watermark
	if p.store == nil || w < p.loadedTo || w == schemas.NoTime || p.loadedTo == schemas.EndOfTime {
		return nil
	}
	upTo := w.Add(fetchAhead)
	from := DueTrip{Due: p.loadedTo}
	for {
		due, err := p.store.Due(from, upTo, fetchChunk)
		if err != nil {
			return fmt.Errorf("partition %d: trips due by %s: %w", p.id, upTo, err)
		}
		for _, d := range due {
			if p.trips[d.ID] == nil {
				if _, err := p.load(d.ID); err != nil {
					return err
				}
			}
		}
		if len(due) < fetchChunk {
			p.loadedTo = upTo
			return nil
		}
		last := due[len(due)-1]
		from = DueTrip{last.Due, last.ID + "\x00"}
	}
}

// bury sends a record to the dead-letter topic with its original bytes.
func (p *Partition) bury(r *schemas.Record, v schemas.Verdict, detail string) {
	if p.abandoned != nil && p.abandoned.Letters[LetterID{r.Topic, r.Offset}] {
		return // it is there
	}
	p.letters = append(p.letters, schemas.DeadLetter{Topic: r.Topic, Partition: p.id, Offset: r.Offset, Reason: v,
		Detail: detail, TripID: schemas.TripID(strings.Clone(string(r.TripID))), EventID: schemas.EventID(strings.Clone(string(r.EventID))),
		AppendedAt: r.AppendedAt, Key: bytes.Clone(r.Key), Value: bytes.Clone(r.Value)})
}

// Tick lets the wall clock mark idle sources and move time when all are.
func (p *Partition) Tick(now schemas.Millis, status [schemas.NumInputs]SourceStatus) error {
	p.clock.tick(now, status)
	if len(p.alerts.standing) > 0 && p.settings.caughtUp(now, status) {
		p.alerts.replayed()
	}
	return p.moved()
}

// moved follows a move of time that no event made.
func (p *Partition) moved() error {
	if err := p.fire(); err != nil {
		return err
	}
	return p.catchUp()
}

// EndSource notes that a replay has consumed a topic up to its end offset.
func (p *Partition) EndSource(t schemas.Topic, now schemas.Millis) error {
	p.clock.end(t, now)
	return p.moved()
}

// EndInput notes that a replay has consumed everything: time moves to the end.
func (p *Partition) EndInput() error {
	p.clock.watermark = schemas.EndOfTime
	return p.moved()
}

// PutTariff takes a tariff of the catalogue's revision and settles the trips that waited for one.
func (p *Partition) PutTariff(revision schemas.Offset, t schemas.Tariff) error {
	p.catalogue.Put(revision, t)
	p.env.Watermark = p.clock.watermark
	for _, id := range slices.Sorted(maps.Keys(p.awaiting)) {
		s, err := p.find(id)
		if err != nil {
			return err
		}
		if s != nil {
			p.advance(s)
		}
	}
	return nil
}

// WithdrawTariff takes a tombstone of the catalogue.
func (p *Partition) WithdrawTariff(revision schemas.Offset, k tariff.Key) {
	p.catalogue.Withdraw(revision, k)
}

// SetRules changes the alert rules from the next event on.
func (p *Partition) SetRules(b *rule.Book) { p.env.Rules = b }

// View shows a trip; false when it is not known here.
func (p *Partition) View(id schemas.TripID) (trip.View, bool, error) {
	s, err := p.whole(id)
	if s == nil || err != nil {
		return trip.View{}, false, err
	}
	p.env.Watermark = p.clock.watermark
	return s.Trip.View(&p.env), true, nil
}

// Explain tells how a trip's bill came about; false when it is not known here.
func (p *Partition) Explain(id schemas.TripID) (trip.Explanation, bool, error) {
	s, err := p.whole(id)
	if s == nil || err != nil {
		return trip.Explanation{}, false, err
	}
	p.env.Watermark = p.clock.watermark
	return s.Trip.Explain(&p.env), true, nil
}
