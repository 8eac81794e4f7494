package traffic

import (
	"container/heap"
	"math"
	"math/rand/v2"

	"taximeter/schemas"
	"taximeter/schemas/edge"
)

// Config says which traffic, from when, and how much of it.
type Config struct {
	Seed      uint64
	Start     schemas.Millis // first request
	Events    int64          // about how many records: no trip is requested once so many are planned; 0 = without end
	PerSecond float64        // records per second of event time, on average
	Wait      schemas.Millis // mean time from match to start of a trip
	Ride      schemas.Millis // mean time from start to end of a trip
	Every     schemas.Millis // between two positions of a car
}

// Mixed has 60 % telemetry and 40 % business events, Tracking 90 and 10: the same trips
// with a position each minute, or every ten seconds.
func Mixed() Config {
	return Config{Seed: 1, Start: 1_764_000_000_000, PerSecond: 750, Wait: 3 * schemas.Minute, Ride: 9 * schemas.Minute, Every: schemas.Minute}
}

// Tracking is the other form; see Mixed.
func Tracking() Config {
	c := Mixed()
	c.Every = 10 * schemas.Second
	return c
}

// Shares of all records.
const (
	repeatedShare = 0.03
	lateShare     = 0.008
	veryLateShare = 0.0005
	invalidShare  = 0.003
	futureEvery   = 1_000_000 // one in so many, the first after futureFirst
	futureFirst   = 100_000
)

// Counts says what was given so far. A repeated record that is late counts as repeated.
type Counts struct {
	Records, Telemetry, Repeated, Late, VeryLate, Invalid, Future, Trips int64
}

// Stream gives the records one by one. It belongs to one goroutine.
type Stream struct {
	cfg     Config
	rng     *rand.Rand
	trips   trips
	request schemas.Millis // when the next trip is asked for
	planned int64          // records of all trips so far
	counts  Counts
}

// New is a stream at its first record.
func New(cfg Config) *Stream {
	return &Stream{cfg: cfg, rng: rand.New(rand.NewPCG(cfg.Seed, 0x62656e6368)), request: cfg.Start}
}

// Counts says what was given so far.
func (s *Stream) Counts() Counts { return s.counts }

// Next gives the record appended next; false when all trips are over. The line is the
// caller's.
func (s *Stream) Next() (edge.Line, bool) {
	for s.more() && (len(s.trips) == 0 || s.request <= s.trips[0].due()) {
		t := s.newTrip(s.request)
		s.planned += int64(len(t.lines))
		s.counts.Trips++
		heap.Push(&s.trips, t)
		s.request += schemas.Millis(math.Ceil(s.rng.ExpFloat64() * 1000 * s.cfg.recordsPerTrip() / s.cfg.PerSecond))
	}
	if len(s.trips) == 0 {
		return edge.Line{}, false
	}
	t := s.trips[0]
	l := t.lines[t.next].Line
	s.count(t.lines[t.next].nature, l.Topic)
	if t.next++; t.next == len(t.lines) {
		heap.Pop(&s.trips)
	} else {
		heap.Fix(&s.trips, 0)
	}
	l.Number = int(s.counts.Records)
	return l, true
}

func (s *Stream) more() bool { return s.cfg.Events == 0 || s.planned < s.cfg.Events }

func (s *Stream) count(n nature, topic schemas.Topic) {
	s.counts.Records++
	if topic == schemas.Telemetry {
		s.counts.Telemetry++
	}
	switch n {
	case repeated:
		s.counts.Repeated++
	case late:
		s.counts.Late++
	case veryLate:
		s.counts.VeryLate++
	case invalid:
		s.counts.Invalid++
	case future:
		s.counts.Future++
	}
}

// recordsPerTrip is the mean; TestShares notices when it no longer holds.
func (c Config) recordsPerTrip() float64 {
	positions := 0.92*float64(c.Ride+c.Wait)/float64(c.Every) + 1
	return (positions + 7.4) * (1 + repeatedShare + invalidShare)
}

// trips is a heap of those not over, by their next record's append time, then by number.
type trips []*trip

func (q trips) Len() int      { return len(q) }
func (q trips) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *trips) Push(x any)   { *q = append(*q, x.(*trip)) }

func (q trips) Less(i, j int) bool {
	if a, b := q[i].due(), q[j].due(); a != b {
		return a < b
	}
	return q[i].number < q[j].number
}

func (q *trips) Pop() any {
	last := len(*q) - 1
	t := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	return t
}

func (s *Stream) chance(p float64) bool { return s.rng.Float64() < p }

// between is uniform in [from, to).
func (s *Stream) between(from, to schemas.Millis) schemas.Millis {
	return from + schemas.Millis(s.rng.Int64N(int64(to-from)))
}

// about is between half and one and a half times the mean.
func (s *Stream) about(mean schemas.Millis) schemas.Millis { return s.between(mean/2, mean+mean/2) }
