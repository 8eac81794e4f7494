package partition

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
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

// Seal cuts and writes all at once; see Cut.
func (p *Partition) Seal(number int64) Sealed {
	p.Cut(number)
	out, _ := p.Write(math.MaxInt)
	return out
}

func (p *Partition) forget(s *Slot) {
	delete(p.trips, s.ID())
	delete(p.awaiting, s.ID())
	s.forgotten = true
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
