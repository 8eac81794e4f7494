package main

import (
	"encoding/binary"
	"math/bits"
	"unsafe"

	"taximeter/bench/internal/rig"
	"taximeter/schemas"
)

// start is the first instant of the traffic.
const start schemas.Millis = 1_767_261_600_000

// fleet is trips under way, spread evenly over the partitions, each sending a position at
// every beat. Records are written over one batch again and again: what stays in memory is
// the meter's.
type fleet struct {
	trips     int
	every     schemas.Millis // between the beats
	perSecond int            // instead of every: beats per second, of less than a millisecond
	again     int            // positions in a thousand that come twice

	beat   int // positions of each trip so far
	part   int // of a beat, by driveSome: trips that had it
	events int64
	batch  batch
}

func newFleet(trips int, every schemas.Millis) *fleet { return &fleet{trips: trips, every: every} }

// batch is records with the bytes under their ids.
type batch struct {
	records [1024]schemas.Record
	trip    [1024][36]byte
	event   [1024][36]byte
}

func (f *fleet) at(beat int) schemas.Millis {
	if f.perSecond > 0 {
		return start + schemas.Millis(beat*1000/f.perSecond)
	}
	return start + schemas.Millis(beat+1)*f.every
}

// begin sends what comes before the positions: a match, a start, an authorisation. The
// clock of the rides is put ahead, so that the positions drive the watermark.
func (f *fleet) begin(w *world) error {
	region, category := "sao-paulo", "economico"
	steps := []schemas.Event{
		{Topic: schemas.Rides, Kind: schemas.RideMatch},
		{Topic: schemas.Rides, Kind: schemas.RideStart},
		{Topic: schemas.Payments, Kind: schemas.PayAuthorization, Payment: schemas.PaymentDetail{Amount: 2350, Currency: "BRL", Means: "CARTAO"}},
	}
	for i := range steps {
		steps[i].At = start
		if steps[i].Topic == schemas.Rides {
			steps[i].Has = schemas.HasRegion | schemas.HasCategory
			steps[i].Ride = schemas.RideDetail{Region: region, Category: category}
		}
	}
	for n, step := range steps {
		if err := f.send(w, 0, f.trips, n, func(r *schemas.Record, _ int) { r.Event = step }); err != nil {
			return err
		}
	}
	return f.send(w, 0, len(w.owners), len(steps), func(r *schemas.Record, _ int) {
		r.Event = schemas.Event{Topic: schemas.Rides, Kind: schemas.RideRating, At: start + 30*schemas.Day}
	})
}

// drive sends so many beats of all trips.
func (f *fleet) drive(w *world, beats int) error {
	for range beats {
		if err := f.positions(w, 0, f.trips); err != nil {
			return err
		}
		f.beat++
	}
	return nil
}

// driveSome sends the next n positions, beginning where the last call ended.
func (f *fleet) driveSome(w *world, n int) error {
	for n > 0 {
		some := min(n, f.trips-f.part)
		if err := f.positions(w, f.part, f.part+some); err != nil {
			return err
		}
		n -= some
		if f.part += some; f.part == f.trips {
			f.part, f.beat = 0, f.beat+1
		}
	}
	return nil
}

// positions sends a beat of trips [from, to).
func (f *fleet) positions(w *world, from, to int) error {
	beat := f.beat
	return f.send(w, from, to, 16+beat, func(r *schemas.Record, trip int) {
		// 500 m a minute to and fro along a street, and a second of jitter between trips.
		away := float64(beat % 64)
		r.Event = schemas.Event{Topic: schemas.Telemetry, Kind: schemas.Position, Has: schemas.HasPosition,
			At:     f.at(beat) + schemas.Millis(trip%1000),
			LatLon: schemas.LatLon{Lat: -23.55 + away*0.0000749*float64(max(f.every, 0))/1000, Lon: -46.63 + float64(trip%1000)*0.0001}}
	})
}

// send makes one record of each of the trips [from, to) and gives them to their owners.
func (f *fleet) send(w *world, from, to, salt int, fill func(r *schemas.Record, trip int)) error {
	b := &f.batch
	for p := range w.owners {
		first := from + (p-from%len(w.owners)+len(w.owners))%len(w.owners)
		n := 0
		for trip := first; trip < to; trip += len(w.owners) {
			r := &b.records[n]
			fill(r, trip)
			uuid(&b.trip[n], uint64(trip), 0)
			uuid(&b.event[n], uint64(trip), uint64(salt))
			r.TripID = schemas.TripID(unsafe.String(&b.trip[n][0], 36))
			r.EventID = schemas.EventID(unsafe.String(&b.event[n][0], 36))
			r.Key, r.AppendedAt = b.trip[n][:], schemas.NoTime
			r.Offset = w.owners[p].next(r.Topic)
			n++
			if f.again > 0 && salt%1000 < f.again {
				b.records[n] = *r
				b.records[n].Offset = w.owners[p].next(r.Topic)
				n++
			}
			if n >= len(b.records)-1 || trip+len(w.owners) >= to {
				if err := w.owners[p].deliver(b.records[:n]); err != nil {
					return err
				}
				f.events += int64(n)
				n = 0
			}
		}
	}
	return nil
}

// uuid writes the text of an id that looks as random ones do.
func uuid(text *[36]byte, a, b uint64) {
	var raw [16]byte
	hi, lo := bits.Mul64(a*0x9e3779b97f4a7c15+b+1, 0xd6e8feb86659fd93)
	binary.BigEndian.PutUint64(raw[:], hi^lo*0xff51afd7ed558ccd)
	binary.BigEndian.PutUint64(raw[8:], a<<24^b)
	const digits = "0123456789abcdef"
	at := 0
	for i, c := range raw {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			text[at] = '-'
			at++
		}
		text[at], text[at+1] = digits[c>>4], digits[c&15]
		at += 2
	}
}

// used is what a stretch of traffic cost.
type used struct {
	rig.Usage
	events int64
}

func (u used) perEvent() (cpuUS, allocs float64) {
	return u.CPU().Seconds() * 1e6 / float64(u.events), float64(u.Mallocs) / float64(u.events)
}

// measured drives so many beats and tells what they cost, this program's own part included:
// some 50 ns an event.
func (f *fleet) measured(w *world, beats int) (used, error) {
	before, stop := f.events, rig.Meter()
	err := f.drive(w, beats)
	return used{stop(), f.events - before}, err
}
