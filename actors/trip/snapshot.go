package trip

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"taximeter/actors/rule"
	"taximeter/schemas"
)

// SnapshotFormat is the version of the layout of heads and points, the first byte of both.
// A reader takes this one and all before it.
const SnapshotFormat = 1

// ErrSnapshot is what every fault of a snapshot's bytes wraps.
var ErrSnapshot = errors.New("trip snapshot cannot be read")

// A trip is written in two kinds of parts: a head, small and written anew each time, and
// its telemetry, of which each part holds the points that came since the part before. So
// what is written follows what changed, not the length of the trip.

// AppendTo writes the whole trip, all of whose points are in memory. Restore gives a trip
// that behaves the same for ever.
func (s *State) AppendTo(dst []byte) []byte {
	head := s.AppendHead(nil)
	dst = binary.AppendUvarint(dst, uint64(len(head)))
	dst = append(dst, head...)
	return s.track.appendPoints(dst, s.links, 0)
}

// Restore reads what AppendTo wrote.
func Restore(b []byte) (*State, error) {
	n, w := binary.Uvarint(b)
	if w <= 0 || n > uint64(len(b)-w) {
		return nil, fmt.Errorf("%w: its head is cut short", ErrSnapshot)
	}
	return RestoreParts(b[w:w+int(n)], b[w+int(n):])
}

// AppendHead writes all of the trip but its points.
func (s *State) AppendHead(dst []byte) []byte {
	e := encoder{append(dst, SnapshotFormat)}
	e.text(string(s.id))
	e.uint(uint64(s.stage))
	e.bits(s.noEndTold, s.noSummary, s.noTariff, s.billing.last != nil)
	e.int(int64(s.lastMove))
	e.int(int64(s.due))
	e.int(int64(s.droppedAt))
	e.uint(uint64(s.duplicates))
	s.track.appendTo(&e)
	e.uint(uint64(len(s.rides)))
	for i := range s.rides {
		s.appendRide(&e, &s.rides[i])
	}
	e.uint(uint64(len(s.payments)))
	for i := range s.payments {
		s.appendPayment(&e, &s.payments[i])
	}
	s.billing.appendTo(&e)
	return s.alerts.AppendTo(e.b)
}

// RestoreParts reads a head and the parts that hold the points.
func RestoreParts(head []byte, points ...[]byte) (*State, error) {
	s := New("")
	if err := s.track.restorePoints(points, &s.links); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSnapshot, err)
	}
	if err := checkFormat(head); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSnapshot, err)
	}
	d := decoder{b: head[1:]}
	s.id = schemas.TripID(d.text())
	s.stage = stage(d.below(uint64(expired) + 1))
	var billed bool
	d.bits(&s.noEndTold, &s.noSummary, &s.noTariff, &billed)
	s.lastMove = schemas.Millis(d.int())
	s.due = schemas.Millis(d.int())
	s.droppedAt = schemas.Millis(d.int())
	s.duplicates = uint32(d.below(math.MaxUint32))
	s.track.restore(&d)
	for n := d.count(5); n > 0; n-- {
		s.restoreRide(&d)
	}
	for n := d.count(5); n > 0; n-- {
		s.restorePayment(&d)
	}
	s.billing.restore(&d, s.id, billed)
	if d.bad {
		return nil, fmt.Errorf("%w: trip %q, damaged at byte %d of its head", ErrSnapshot, s.id, len(head)-len(d.b))
	}
	memory, rest, err := rule.Decode(d.b)
	if err != nil {
		return nil, fmt.Errorf("%w: trip %q: %w", ErrSnapshot, s.id, err)
	}
	if len(rest) > 0 {
		return nil, fmt.Errorf("%w: trip %q, %d bytes too many", ErrSnapshot, s.id, len(rest))
	}
	s.alerts = memory
	s.parts = uint8(len(points))
	s.restoreChains()
	s.recount()
	return s, nil
}

func checkFormat(part []byte) error {
	if len(part) == 0 || part[0] < 1 || part[0] > SnapshotFormat {
		return fmt.Errorf("format %d, this program reads up to %d", part[:min(1, len(part))], SnapshotFormat)
	}
	return nil
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
		s.chain(t, m, unlinked, func(schemas.EventID, bool) {}) // effects are in the snapshot
	}
	for id := range s.links {
		m, _ := s.findPosition(id)
		enter(schemas.Telemetry, m, s.findPosition)
	}
	for i := range s.rides {
		if m, ok := s.findRide(s.names.id(s.rides[i].id)); ok {
			enter(schemas.Rides, m, s.findRide)
		}
	}
	for i := range s.payments {
		if m, ok := s.findPayment(s.names.id(s.payments[i].id)); ok {
			enter(schemas.Payments, m, s.findPayment)
		}
	}
}

// appendTo writes what the points do not tell: the filter's decisions, in runs, and which
// windows there are. Lengths and contents follow from them.
func (t *track) appendTo(e *encoder) {
	e.uint(uint64(t.len()))
	var decisions runs
	if t.settled != nil {
		decisions = t.settled.decisions
	}
	decisions.done = append(e.b, decisions.done...)
	for i := range t.points {
		decisions.add(t.points[i].state)
	}
	decisions.end()
	e.b = decisions.done
	var known windowList
	published := 0
	if t.settled != nil {
		known, published = t.settled.windows, int(t.settled.published)
	}
	e.uint(uint64(published + len(t.windows)))
	known.list = append(e.b, known.list...)
	for i := range t.windows {
		known.add(&t.windows[i])
	}
	e.b = known.list
}

// restore reads it, over the points in order.
func (t *track) restore(d *decoder) {
	if d.uint() != uint64(len(t.points)) {
		d.bad = true
	}
	t.restoreStates(d)
	t.restoreWindows(d, d.count(2))
}

// restoreWindows reads so many windows of a list; their contents follow from the points.
func (t *track) restoreWindows(d *decoder, n uint64) {
	var at schemas.Millis
	for ; n > 0; n-- {
		at += schemas.Millis(d.int()) * WindowSize
		if k := len(t.windows); k > 0 && at <= t.windows[k-1].start {
			d.bad = true
			return
		}
		t.windows = append(t.windows, tripWindow{start: at, version: int32(d.below(math.MaxInt32))})
	}
	for i := range t.windows {
		t.windows[i].content = t.contentAt(t.windows[i].start)
	}
}

// restoreStates reads the filter's decisions on the points in memory.
func (t *track) restoreStates(d *decoder) {
	last := -1
	for i := 0; i < len(t.points) && !d.bad; {
		run := d.uint()
		state, n := pointState(run&7), run>>3
		if state == undecided || state > sameInstant || n == 0 || n > uint64(len(t.points)-i) || (last < 0 && state != voided && state != anchored) {
			d.bad = true
			return
		}
		for ; n > 0; n-- {
			p := &t.points[i]
			p.state = state
			if state == accepted {
				p.mm = t.segment(last, i)
			}
			if state.accepted() {
				last = i
			}
			i++
		}
	}
}

func (s *State) appendRide(e *encoder, r *ride) {
	e.name(&s.names, r.id)
	e.name(&s.names, r.rectifies)
	e.int(int64(r.at))
	e.uint(uint64(r.kind))
	e.uint(uint64(r.verdict))
	e.bits(r.void)
	e.uint(uint64(r.has))
	d := r.detail
	e.text(d.Region)
	e.text(d.Category)
	e.int(int64(d.Multiplier))
	e.uint(uint64(len(d.Route)))
	for _, p := range d.Route {
		e.float(p.Lat)
		e.float(p.Lon)
	}
}

func (s *State) restoreRide(d *decoder) {
	r := ride{id: s.nameOf(schemas.EventID(d.text())), rectifies: s.nameOf(schemas.EventID(d.text())), at: schemas.Millis(d.int()),
		kind: d.kind(), verdict: d.verdict()}
	d.bits(&r.void)
	r.has = schemas.Fields(d.uint())
	detail := schemas.RideDetail{Region: d.text(), Category: d.text(), Multiplier: schemas.Mils(d.int())}
	for n := d.count(16); n > 0; n-- {
		detail.Route = append(detail.Route, schemas.LatLon{Lat: d.float(), Lon: d.float()})
	}
	var none words
	r.detail = s.detailOf(&none, &detail)
	d.bad = d.bad || r.id == 0
	s.rides = append(s.rides, r)
}

func (s *State) appendPayment(e *encoder, p *payment) {
	e.name(&s.names, p.id)
	e.name(&s.names, p.rectifies)
	e.int(int64(p.at))
	e.uint(uint64(p.kind))
	e.uint(uint64(p.verdict))
	e.bits(p.void)
	e.int(int64(p.amount))
	e.text(p.means)
}

func (s *State) restorePayment(d *decoder) {
	p := payment{id: s.nameOf(schemas.EventID(d.text())), rectifies: s.nameOf(schemas.EventID(d.text())), at: schemas.Millis(d.int()),
		kind: d.kind(), verdict: d.verdict()}
	d.bits(&p.void)
	p.amount, p.means = schemas.Cents(d.int()), d.text()
	d.bad = d.bad || p.id == 0
	s.payments = append(s.payments, p)
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
	b.history = &history{revision: schemas.Offset(d.int())}
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
