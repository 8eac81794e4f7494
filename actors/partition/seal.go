package partition

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"taximeter/actors/rule"
	"taximeter/actors/tariff"
	"taximeter/schemas"
)

// HeaderFormat is the newest version of the header, which names the layout of the rows with
// it. A reader takes this one and all before it.
const HeaderFormat = int(ByAge)

// ErrNewerFormat is what Restore says of a header that a newer program wrote.
var ErrNewerFormat = errors.New("written by a newer taximeter; upgrade this node")

// Change is one row of the partition's state: a put, or with a nil Value a removal.
type Change struct{ Key, Value []byte }

// Sealed is a consistent cut of the partition: what changed since the last one, and all
// that waits to be published since the base's cut.
type Sealed struct {
	Next      [schemas.NumInputs]schemas.Offset
	Watermark schemas.Millis
	Changes   []Change // to be applied as one batch
	Outbox    schemas.Outbox
	Unsent    []schemas.Alert // decided, not acknowledged as sent at the cut
	Seen      []string        // ids known as sent that replay has not reached yet
	Reached   bool            // the partition has come to where the line stood that a restore left behind, if any
}

// openSeal is how much of the outbox a seal holds that is not known as committed.
type openSeal struct {
	number                  int64
	bills, windows, letters int
	next                    [schemas.NumInputs]schemas.Offset
}

// Seal cuts. Between two batches the partition's memory is a cut, so nothing waits.
//
// Seals that are not committed yet are cumulative: each outbox begins at the base's cut,
// and items stay until Committed.
func (p *Partition) Seal(number int64) Sealed {
	p.seals++
	out := Sealed{Watermark: p.clock.watermark, Unsent: slices.Clone(p.alerts.unsent), Reached: p.abandoned == nil}
	for i := range p.positions {
		out.Next[i] = p.positions[i].Next
	}
	for id := range p.alerts.suppress {
		out.Seen = append(out.Seen, id)
	}
	slices.Sort(out.Seen)
	const rowsPerTrip = 3 // head, points, timer; a timer that moved is one more, and so is a new trip's pointer
	var in slab
	out.Changes = append(make([]Change, 0, 1+(rowsPerTrip+1)*len(p.dirty)), Change{[]byte(keyHeader), p.header(out.Seen)})
	trips := p.tellTrips(number)
	for _, s := range p.dirty {
		if p.trips[s.ID()] == s { // else it expired and a new trip took its rows over
			out.Changes = p.write(out.Changes, s, &in)
		}
	}
	p.dirty = p.dirty[:0]
	o := openSeal{number, len(p.effects.Bills), len(p.effects.Windows), len(p.letters), out.Next}
	p.open = append(p.open, o)
	out.Outbox = schemas.Outbox{Bills: slices.Clip(p.effects.Bills), Windows: slices.Clip(p.effects.Windows),
		DeadLetters: slices.Clip(p.letters), Verdicts: p.tellVerdicts(), Trips: trips}
	// Later effects go to arrays of their own: the sealed outbox is read in other goroutines.
	p.effects.Bills, p.effects.Windows, p.letters = out.Outbox.Bills, out.Outbox.Windows, out.Outbox.DeadLetters
	return out
}

// slab hands out copies in pieces of large allocations: the rows of a seal live and die together.
type slab struct{ free []byte }

const slabBytes = 64 << 10

func (s *slab) keep(b []byte) []byte {
	if len(b) > len(s.free) {
		s.free = make([]byte, max(len(b), slabBytes))
	}
	n := copy(s.free, b)
	kept := s.free[:n:n]
	s.free = s.free[n:]
	return kept
}

// write appends the rows of one changed trip.
func (p *Partition) write(rows []Change, s *Slot, in *slab) []Change {
	s.dirty = false
	due := s.Trip.Due()
	gone := s.Trip.Expired()
	put := func(key, value []byte) {
		rows = append(rows, Change{in.keep(key), in.keep(value)})
		p.scratch = value[:0]
	}
	remove := func(key []byte) { rows = append(rows, Change{in.keep(key), nil}) }
	var keys [2][64]byte // ids are rarely longer
	entry := appendTripKey(keys[0][:0], s.ID())
	if s.place == nowhere && !gone {
		if s.place = p.layout.place(p.clock.watermark); s.place != underID {
			put(entry, s.place.appendPointer(p.scratch))
		}
	}
	head := s.place.appendHeadKey(keys[1][:0], s.ID())
	point := func(part int) []byte { return binary.BigEndian.AppendUint32(head, uint32(part)) }
	if s.Trip.HasNewPoints() && !gone {
		part, points := s.Trip.AppendPoints(p.scratch)
		put(point(part), points)
	}
	parts := s.Trip.Parts()
	if gone {
		parts = 0
	}
	for i := parts; i < int(s.parts); i++ {
		remove(point(i))
	}
	s.parts = uint8(parts)
	switch {
	case !gone:
		put(head, s.Trip.AppendHead(binary.AppendUvarint(p.scratch, uint64(parts))))
	case s.place == nowhere: // it came and went between two seals
	case s.place == underID:
		remove(head)
	default:
		remove(head)
		remove(entry)
	}
	if gone {
		due, s.place = schemas.EndOfTime, nowhere
	}
	if s.stored != due {
		if s.stored != schemas.EndOfTime {
			remove(appendDueKey(p.scratch, DueTrip{s.stored, s.ID()}))
		}
		if due != schemas.EndOfTime {
			rows = append(rows, Change{in.keep(appendDueKey(p.scratch, DueTrip{due, s.ID()})), []byte{}})
		}
		s.stored = due
	}
	if gone && p.store == nil {
		p.forget(s) // else Sweep does: until then the store still has its rows
	}
	return rows
}

func (p *Partition) forget(s *Slot) {
	delete(p.trips, s.ID())
	delete(p.awaiting, s.ID())
	s.scheduled = schemas.EndOfTime
	p.runner.Evict(s)
}

// Committed tells that the chain holds the seal of that number: what it held is published
// from there and need not be kept here.
func (p *Partition) Committed(number int64) {
	i := slices.IndexFunc(p.open, func(o openSeal) bool { return o.number == number })
	if i < 0 {
		return
	}
	won := p.open[i]
	p.open = slices.Delete(p.open, 0, i+1)
	for j := range p.open {
		p.open[j].bills -= won.bills
		p.open[j].windows -= won.windows
		p.open[j].letters -= won.letters
	}
	p.effects.Bills = after(p.effects.Bills, won.bills)
	p.effects.Windows = after(p.effects.Windows, won.windows)
	p.letters = after(p.letters, won.letters)
	for t := range p.told {
		p.told[t].forget(won.next[t])
	}
	p.toldTrips(won.number)
}

// after is what follows the first n; of nothing it holds on to nothing.
func after[T any](s []T, n int) []T {
	if n == len(s) {
		return nil
	}
	return s[n:]
}

// Waiting is how many bills, windows and dead letters no committed seal holds yet.
func (p *Partition) Waiting() (bills, windows, letters int) {
	return len(p.effects.Bills), len(p.effects.Windows), len(p.letters)
}

// Sweep lets clean trips leave memory that did not change in the last idle seals, and
// more of them while over maxResident. Of the others, points leave that the store has. Call
// it when the last seal's changes are applied.
func (p *Partition) Sweep(idle int64, maxResident int) (evicted int) {
	if p.store == nil {
		return 0
	}
	for _, s := range p.trips {
		if s.Trip.Expired() && !s.dirty {
			p.forget(s)
			continue
		}
		stale := int64(s.touched)+idle < int64(p.seals) || len(p.trips) > maxResident
		// A trip due soon must stay: the store is not asked again for instants before loadedTo.
		if s.dirty || !stale || s.Trip.Due() <= p.loadedTo || p.awaiting[s.ID()] {
			if p.abandoned == nil { // what it left is compared with windows in memory
				s.Trip.Settle()
			}
			continue
		}
		p.forget(s)
		evicted++
	}
	if evicted > 0 || len(p.timers) > len(p.trips)+len(p.trips)/4 {
		p.timers.compact()
	}
	return evicted
}

// header is all of the partition but its trips.
type header struct {
	Format    int                         `json:"formato"`
	Partition schemas.Partition           `json:"particao"`
	Positions [schemas.NumInputs]Position `json:"posicoes"`
	Watermark schemas.Millis              `json:"watermark"`
	Sources   [numClocks]headerSource     `json:"relogios"`
	Verdicts  map[string]int64            `json:"vereditos"`
	Anomalies map[string]int64            `json:"anomalias"`
	Tariffs   []tariff.Entry              `json:"tarifas"`
	Awaiting  []schemas.TripID            `json:"semTarifa"`
	Seen      []string                    `json:"alertasVistos"`
}

type headerSource struct {
	Max    schemas.Millis `json:"maximo"`
	RoseAt schemas.Millis `json:"subiuEm"`
	Idle   bool           `json:"parado"`
	Ended  bool           `json:"terminado"`
}

func (p *Partition) header(seen []string) []byte {
	h := header{Format: int(p.layout), Partition: p.id, Positions: p.positions, Watermark: p.clock.watermark,
		Verdicts: make(map[string]int64), Anomalies: make(map[string]int64), Tariffs: p.catalogue.Entries(), Seen: seen}
	for i, s := range p.clock.sources {
		h.Sources[i] = headerSource{s.max, s.roseAt, s.idle, s.ended}
	}
	for v, n := range p.ledger.Verdicts {
		if n > 0 {
			h.Verdicts[schemas.Verdict(v).String()] = n
		}
	}
	for k, n := range p.ledger.Anomalies {
		if n > 0 {
			h.Anomalies[schemas.AnomalyKind(k).String()] = n
		}
	}
	for id := range p.awaiting {
		h.Awaiting = append(h.Awaiting, id)
	}
	slices.Sort(h.Awaiting)
	b, err := json.Marshal(h)
	if err != nil {
		panic(fmt.Sprintf("partition %d: header cannot be written: %v", p.id, err)) // plain words always can
	}
	return b
}

// Restore is the partition as a seal left it, over the store that holds its rows. The
// wall clock of the idle marks starts anew at now: time spent down is not idleness seen.
func Restore(head []byte, id schemas.Partition, mode Mode, settings Settings, rules *rule.Book, runner Runner, store Store, now schemas.Millis) (*Partition, error) {
	h, err := readHeader(head, id)
	if err != nil {
		return nil, err
	}
	p := New(id, mode, settings, rules, runner, store, now)
	p.SetLayout(Layout(h.Format))
	p.positions = h.Positions
	p.clock.watermark = h.Watermark
	for i, s := range h.Sources {
		p.clock.sources[i] = source{max: s.Max, roseAt: now, idle: s.Idle, ended: s.Ended}
	}
	p.ledger = h.ledger()
	for _, e := range h.Tariffs {
		p.catalogue.Take(e)
	}
	for _, id := range h.Awaiting { // in memory, where the next tariff finds them
		if _, err := p.load(id); err != nil {
			return nil, err
		}
	}
	p.Recover(nil, nil, h.Seen)
	return p, p.fire()
}
