package trip

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"taximeter/actors/rule"
	"taximeter/schemas"
)

// SnapshotFormat is the version of the snapshot's layout, its first byte. A reader takes
// this one and all before it.
const SnapshotFormat = 1

// ErrSnapshot is what every fault of a snapshot's bytes wraps.
var ErrSnapshot = errors.New("trip snapshot cannot be read")

// AppendTo writes the whole trip. Restore gives a trip that behaves the same for ever.
func (s *State) AppendTo(dst []byte) []byte {
	e := encoder{append(dst, SnapshotFormat)}
	e.text(string(s.id))
	e.uint(uint64(s.stage))
	e.bits(s.noEndTold, s.noSummary, s.billing.noTariff, s.billing.last != nil)
	e.int(int64(s.lastMove))
	e.int(int64(s.due))
	e.int(int64(s.droppedAt))
	e.uint(uint64(s.duplicates))
	s.track.appendTo(&e)
	e.uint(uint64(len(s.links)))
	for i := range s.track.points { // in the order of points, so that equal trips give equal bytes
		if id := s.track.ids.id(s.track.points[i].id); s.links != nil && s.links[id] != "" {
			e.text(string(id))
			e.text(string(s.links[id]))
		}
	}
	e.uint(uint64(len(s.rides)))
	for i := range s.rides {
		s.rides[i].appendTo(&e)
	}
	e.uint(uint64(len(s.payments)))
	for i := range s.payments {
		s.payments[i].appendTo(&e)
	}
	s.billing.appendTo(&e)
	return s.alerts.AppendTo(e.b)
}

// Restore reads what AppendTo wrote.
func Restore(b []byte) (*State, error) {
	if len(b) == 0 || b[0] != SnapshotFormat {
		return nil, fmt.Errorf("%w: format %d, this program reads format %d", ErrSnapshot, b[:min(1, len(b))], SnapshotFormat)
	}
	d := decoder{b: b[1:]}
	s := New(schemas.TripID(d.text()))
	s.stage = stage(d.below(uint64(expired) + 1))
	var billed bool
	d.bits(&s.noEndTold, &s.noSummary, &s.billing.noTariff, &billed)
	s.lastMove = schemas.Millis(d.int())
	s.due = schemas.Millis(d.int())
	s.droppedAt = schemas.Millis(d.int())
	s.duplicates = int(d.uint())
	s.track.restore(&d)
	for n := d.count(2); n > 0; n-- {
		if s.links == nil {
			s.links = make(map[schemas.EventID]schemas.EventID)
		}
		id := schemas.EventID(d.text())
		s.links[id] = schemas.EventID(d.text())
		if _, known := s.findPosition(id); !known || s.links[id] == "" {
			d.bad = true
		}
	}
	for n := d.count(5); n > 0; n-- {
		s.rides = append(s.rides, restoreRide(&d))
	}
	for n := d.count(5); n > 0; n-- {
		s.payments = append(s.payments, restorePayment(&d))
	}
	s.billing.restore(&d, s.id, billed)
	if d.bad {
		return nil, fmt.Errorf("%w: trip %q, damaged at byte %d", ErrSnapshot, s.id, len(b)-len(d.b))
	}
	memory, rest, err := rule.Decode(d.b)
	if err != nil {
		return nil, fmt.Errorf("%w: trip %q: %w", ErrSnapshot, s.id, err)
	}
	if len(rest) > 0 {
		return nil, fmt.Errorf("%w: trip %q, %d bytes too many", ErrSnapshot, s.id, len(rest))
	}
	s.alerts = memory
	s.restoreChains()
	s.recount()
	return s, nil
}

// restoreChains enters every linked event again; the order does not matter.
func (s *State) restoreChains() {
	enter := func(t schemas.Topic, m member, find func(schemas.EventID) (member, bool)) {
		if !m.links() {
			return
		}
		// A target that links on is entered in its own turn.
		unlinked := func(id schemas.EventID) (member, bool) {
			t, came := find(id)
			return t, came && !t.links()
		}
		s.chains[t].add(m, unlinked, func(schemas.EventID, bool) {}) // effects are in the snapshot
	}
	for id := range s.links {
		m, _ := s.findPosition(id)
		enter(schemas.Telemetry, m, s.findPosition)
	}
	for i := range s.rides {
		if m, ok := s.findRide(s.rides[i].id); ok {
			enter(schemas.Rides, m, s.findRide)
		}
	}
	for i := range s.payments {
		if m, ok := s.findPayment(s.payments[i].id); ok {
			enter(schemas.Payments, m, s.findPayment)
		}
	}
}

func (t *track) appendTo(e *encoder) {
	e.bytes(t.ids.arena)
	e.uint(uint64(len(t.points)))
	var at schemas.Millis
	for i := range t.points {
		p := &t.points[i]
		e.int(int64(p.at - at))
		at = p.at
		e.float(p.pos.Lat)
		e.float(p.pos.Lon)
		e.uint(uint64(p.id))
		e.uint(uint64(p.state) | uint64(p.verdict)<<4)
		if p.state == accepted {
			e.uint(uint64(p.mm))
		}
	}
	e.uint(uint64(len(t.windows)))
	for i := range t.windows {
		w := &t.windows[i]
		e.int(int64(w.start))
		e.uint(uint64(w.version))
		e.uint(uint64(w.points))
		e.uint(uint64(w.rejected))
		e.uint(uint64(w.mm))
		e.uint(uint64(w.timeMS))
		e.float(w.maxKmh)
		e.int(int64(w.first))
		e.int(int64(w.last))
	}
}

func (t *track) restore(d *decoder) {
	arena := d.bytes()
	ids, ok := restoreIDs(append([]byte(nil), arena...))
	d.bad = d.bad || !ok
	t.ids = ids
	var at schemas.Millis
	for n := d.count(minPoint); n > 0; n-- {
		at += schemas.Millis(d.int())
		p := point{at: at, pos: schemas.LatLon{Lat: d.float(), Lon: d.float()}, id: idRef(d.below(uint64(len(arena)) + 1))}
		flags := d.uint()
		p.state, p.verdict = pointState(flags&15), schemas.Verdict(flags>>4)
		if p.state == accepted {
			p.mm = int64(d.uint())
		}
		t.points = append(t.points, p)
	}
	for n := d.count(15); n > 0; n-- {
		t.windows = append(t.windows, tripWindow{start: schemas.Millis(d.int()), version: int(d.uint()), content: content{
			points: int(d.uint()), rejected: int(d.uint()), mm: int64(d.uint()), timeMS: int64(d.uint()), maxKmh: d.float(),
			first: schemas.Millis(d.int()), last: schemas.Millis(d.int())}})
	}
	d.bad = d.bad || !t.sound()
}

// minPoint is the fewest bytes of a point: time difference, two coordinates, id, flags.
const minPoint = 1 + 8 + 8 + 1 + 1

// sound checks what the steps rely on: each point has an id of its own, points and windows
// are in order, and every decision of the filter has an accepted point to look back to.
func (t *track) sound() bool {
	if t.ids.count != len(t.points) {
		return false
	}
	unclaimed := make([]bool, len(t.ids.arena)) // by where an entry starts
	for at := 0; at < len(unclaimed); at += entryLen(t.ids.arena[at:]) {
		unclaimed[at] = true
	}
	begun := false
	for i := range t.points {
		p := &t.points[i]
		if p.id == 0 || !unclaimed[p.id-1] || !p.pos.Valid() || p.mm < 0 || !p.verdict.Accepted() {
			return false
		}
		unclaimed[p.id-1] = false
		begun = begun || p.state == anchored
		if p.state == undecided || p.state > sameInstant || (p.state != voided && !begun) {
			return false
		}
		if i > 0 && !t.before(&t.points[i-1], p) {
			return false
		}
	}
	return slices.IsSortedFunc(t.windows, func(a, b tripWindow) int { return cmp.Compare(a.start, b.start) })
}

func (r *ride) appendTo(e *encoder) {
	e.text(string(r.id))
	e.text(string(r.rectifies))
	e.int(int64(r.at))
	e.uint(uint64(r.kind))
	e.uint(uint64(r.verdict))
	e.bits(r.void)
	e.uint(uint64(r.has))
	e.text(r.Region)
	e.text(r.Category)
	e.int(int64(r.Multiplier))
	e.uint(uint64(len(r.Route)))
	for _, p := range r.Route {
		e.float(p.Lat)
		e.float(p.Lon)
	}
}

func restoreRide(d *decoder) ride {
	r := ride{id: schemas.EventID(d.text()), rectifies: schemas.EventID(d.text()), at: schemas.Millis(d.int()),
		kind: d.kind(), verdict: d.verdict()}
	d.bits(&r.void)
	r.has = schemas.Fields(d.uint())
	r.Region, r.Category, r.Multiplier = d.text(), d.text(), schemas.Mils(d.int())
	for n := d.count(16); n > 0; n-- {
		r.Route = append(r.Route, schemas.LatLon{Lat: d.float(), Lon: d.float()})
	}
	return r
}

func (p *payment) appendTo(e *encoder) {
	e.text(string(p.id))
	e.text(string(p.rectifies))
	e.int(int64(p.at))
	e.uint(uint64(p.kind))
	e.uint(uint64(p.verdict))
	e.bits(p.void)
	e.int(int64(p.amount))
	e.text(p.means)
}

func restorePayment(d *decoder) payment {
	p := payment{id: schemas.EventID(d.text()), rectifies: schemas.EventID(d.text()), at: schemas.Millis(d.int()),
		kind: d.kind(), verdict: d.verdict()}
	d.bits(&p.void)
	p.amount, p.means = schemas.Cents(d.int()), d.text()
	return p
}

func (b *billing) appendTo(e *encoder) {
	if b.last == nil {
		return
	}
	e.int(int64(b.revision))
	e.uint(uint64(len(b.versions)))
	for _, v := range b.versions {
		e.int(int64(v.amount))
		e.int(v.distanceMM)
		e.int(v.durationS)
		e.text(string(v.motive))
	}
	l := b.last
	e.int(int64(l.Difference))
	e.text(l.Currency)
	e.text(l.TariffID)
	e.text(l.Region)
	e.text(l.Category)
	e.int(int64(l.Multiplier))
	e.int(int64(l.Start))
	e.int(int64(l.End))
	e.uint(uint64(l.Points))
	e.uint(uint64(l.Rejected))
}

func (b *billing) restore(d *decoder, trip schemas.TripID, billed bool) {
	if !billed {
		return
	}
	b.revision = schemas.Offset(d.int())
	for n := d.count(4); n > 0; n-- {
		b.versions = append(b.versions, billVersion{schemas.Cents(d.int()), d.int(), d.int(), schemas.Motive(d.text())})
	}
	if len(b.versions) == 0 {
		d.bad = true
		return
	}
	n := len(b.versions)
	v := b.versions[n-1]
	b.last = &schemas.Bill{TripID: trip, EventID: schemas.BillEventID(trip, n), Version: n, Amount: v.amount,
		DistanceMM: v.distanceMM, DurationS: v.durationS, Motive: v.motive, Rectification: n > 1,
		Difference: schemas.Cents(d.int()), Currency: d.text(), TariffID: d.text(), Region: d.text(), Category: d.text(),
		Multiplier: schemas.Mils(d.int()), Start: schemas.Millis(d.int()), End: schemas.Millis(d.int()),
		Points: int(d.uint()), Rejected: int(d.uint())}
}
