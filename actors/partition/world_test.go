package partition_test

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"unsafe"

	"pgregory.net/rapid"

	"taximeter/actors/partition"
	"taximeter/actors/rule"
	"taximeter/schemas"
)

// The world of the property tests: a few trips of a city where everything that can be
// odd is. Instants lie on a coarse grid, so that ties, edges of windows and edges of
// lateness are common; positions lie on a line of 55.6 m steps with two far-off spikes.

const t0 schemas.Millis = 1_767_261_600_000 // 2026-01-01T10:00:00Z, the start of a window

func instants() *rapid.Generator[schemas.Millis] {
	return rapid.Custom(func(t *rapid.T) schemas.Millis {
		at := t0 + 10*schemas.Second*schemas.Millis(rapid.IntRange(0, 180).Draw(t, "10s"))
		return at + schemas.Millis(rapid.SampledFrom([]int{0, 0, 0, 0, -1, 1, 499}).Draw(t, "ms"))
	})
}

func positions() *rapid.Generator[schemas.LatLon] {
	return rapid.Custom(func(t *rapid.T) schemas.LatLon {
		steps := rapid.SampledFrom([]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 200, 210}).Draw(t, "steps")
		return schemas.LatLon{Lat: 41.15 + 0.0005*float64(steps), Lon: -8.61}
	})
}

// nameOf gives the i-th event id: short words, long words and UUIDs all occur.
func nameOf(i int) schemas.EventID {
	switch i % 3 {
	case 0:
		return schemas.EventID(fmt.Sprintf("e%d", i))
	case 1:
		return schemas.EventID(fmt.Sprintf("4e9cd96b-c85b-50b7-8157-c57f2fb0%04x", i))
	}
	return schemas.EventID(fmt.Sprintf("%s-%d", strings.Repeat("evento", 12), i))
}

// eventOf draws an event of a trip; ids come from a pool of so many names.
func eventOf(t *rapid.T, trip schemas.TripID, id, pool int) schemas.Event {
	e := schemas.Event{TripID: trip, EventID: nameOf(id), At: instants().Draw(t, "at")}
	e.Topic = rapid.SampledFrom([]schemas.Topic{schemas.Telemetry, schemas.Telemetry, schemas.Telemetry,
		schemas.Rides, schemas.Rides, schemas.Payments}).Draw(t, "topic")
	if rapid.IntRange(0, 3).Draw(t, "link") == 0 {
		e.Rectifies = nameOf(rapid.IntRange(0, pool+1).Draw(t, "retifica")) // some never come
	}
	switch e.Topic {
	case schemas.Telemetry:
		e.Kind, e.Has, e.LatLon = schemas.Position, schemas.HasPosition, positions().Draw(t, "pos")
	case schemas.Rides:
		e.Kind = rapid.SampledFrom([]schemas.Kind{schemas.RideStart, schemas.RideStart, schemas.RideStart, schemas.RideEnd,
			schemas.RideEnd, schemas.RideEnd, schemas.RideMatch, schemas.RideMatch, schemas.RideRequest, schemas.RideCancel,
			schemas.RideCancel, schemas.RideRating, schemas.Void, schemas.KindUnknown}).Draw(t, "kind")
		if rapid.Bool().Draw(t, "hasRegion") {
			e.Has |= schemas.HasRegion
			e.Ride.Region = rapid.SampledFrom([]string{"porto", "lisboa", ""}).Draw(t, "region")
		}
		if rapid.Bool().Draw(t, "hasCategory") {
			e.Has |= schemas.HasCategory
			e.Ride.Category = rapid.SampledFrom([]string{"taxi", "moto"}).Draw(t, "category")
		}
		if rapid.Bool().Draw(t, "hasMultiplier") {
			e.Has |= schemas.HasMultiplier
			e.Ride.Multiplier = schemas.Mils(rapid.SampledFrom([]int{1000, 1250, 1333, 0}).Draw(t, "multiplier"))
		}
	case schemas.Payments:
		e.Kind = rapid.SampledFrom([]schemas.Kind{schemas.PayAuthorization, schemas.PayCapture, schemas.PayCapture,
			schemas.PayRefund, schemas.Void, schemas.KindUnknown}).Draw(t, "kind")
		e.Payment.Amount = schemas.Cents(rapid.SampledFrom([]int{500, 650, 1234}).Draw(t, "amount"))
		e.Payment.Means = rapid.SampledFrom([]string{"DINHEIRO", "CARTAO"}).Draw(t, "means")
	}
	return e
}

// eventsOf draws the events of a few trips, each (topic, trip, id) once.
func eventsOf(t *rapid.T) []schemas.Event {
	var all []schemas.Event
	for trip := range rapid.IntRange(1, 2).Draw(t, "trips") {
		n := rapid.IntRange(1, 14).Draw(t, "events")
		for i := range n {
			all = append(all, eventOf(t, schemas.TripID(fmt.Sprintf("corrida-%d", trip)), i, n))
		}
	}
	return all
}

// recordsOf lays events out as an arrival; offsets count per topic, with gaps as
// transaction markers leave them.
func recordsOf(t *rapid.T, events []schemas.Event) []schemas.Record {
	gap := rapid.SampledFrom([]schemas.Offset{1, 1, 1, 3})
	var next [schemas.NumInputs]schemas.Offset
	out := make([]schemas.Record, len(events))
	for i, e := range events {
		out[i] = schemas.Record{Event: e, Offset: next[e.Topic], AppendedAt: schemas.NoTime, Key: []byte(e.TripID)}
		next[e.Topic] += gap.Draw(t, "gap")
	}
	return out
}

// arrivalOf draws an arrival with everything odd that a record can be: ids used again
// with other content, exact duplicates, dead letters, clocks ahead and bills read back.
func arrivalOf(t *rapid.T) []schemas.Record {
	events := eventsOf(t)
	for range rapid.IntRange(0, 4).Draw(t, "again") {
		e := rapid.SampledFrom(events).Draw(t, "of")
		if rapid.Bool().Draw(t, "otherContent") {
			other := eventOf(t, e.TripID, 0, len(events))
			other.EventID = e.EventID
			e = other
		}
		events = slices.Insert(events, rapid.IntRange(0, len(events)).Draw(t, "where"), e)
	}
	records := recordsOf(t, events)
	for range rapid.IntRange(0, 2).Draw(t, "faults") {
		r := &records[rapid.IntRange(0, len(records)-1).Draw(t, "which")]
		switch rapid.IntRange(0, 6).Draw(t, "fault") {
		case 0:
			r.Fault, r.Detail = schemas.DLQUnreadable, "cut short"
		case 1:
			r.EventID = ""
		case 2:
			r.Key = []byte("another")
		case 3:
			r.At = 946_684_799_999
		case 4:
			r.AppendedAt = r.At - 2*schemas.Minute - schemas.Millis(rapid.IntRange(0, 1).Draw(t, "over"))
		case 5:
			r.LatLon = schemas.LatLon{} // dead for a position, nothing for the others
		case 6:
			if r.Topic == schemas.Payments {
				r.Kind, r.Own = schemas.PayBill, rapid.Bool().Draw(t, "own")
			}
		}
	}
	return records
}

func tariffs() []schemas.Tariff {
	of := func(id, region, category string, from schemas.Millis, base, km, minute, minimum schemas.Micros, fee schemas.Micros, grace int) schemas.Tariff {
		return schemas.Tariff{TariffID: id, Region: region, Category: category, ValidFrom: from, Currency: "EUR",
			Base: base, PerKm: km, PerMin: minute, Minimum: minimum, CancelFee: fee, GraceS: grace}
	}
	return []schemas.Tariff{
		of("porto", "porto", schemas.Any, 0, 2_500_000, 1_234_567, 333_333, 5_000_000, 3_005_000, 60),
		of("porto-taxi-1", "porto", "taxi", 0, 3_250_000, 470_000, 250_000, 0, 2_000_000, 300),
		of("porto-taxi-2", "porto", "taxi", t0+15*schemas.Minute, 3_255_000, 480_000, 250_000, 0, 0, 0),
		of("qualquer", schemas.Any, schemas.Any, t0-schemas.Hour, 1_000_000, 900_000, 100_000, 1_500_000, 1_000_000, 120),
		of("porto-taxi-1b", "porto", "taxi", 0, 3_250_000, 475_000, 250_000, 0, 2_000_000, 300), // corrects the second
	}
}

// memStore is what a test keeps a partition's rows in.
type memStore map[string][]byte

func (m memStore) apply(changes []partition.Change) {
	for _, c := range changes {
		if c.Value == nil {
			delete(m, string(c.Key))
		} else {
			m[string(c.Key)] = slices.Clone(c.Value)
		}
	}
}

func (m memStore) Get(key []byte) ([]byte, bool, error) {
	b, ok := m[string(key)]
	return b, ok, nil
}

func (m memStore) Due(from partition.DueTrip, upTo schemas.Millis, limit int) ([]partition.DueTrip, error) {
	var out []partition.DueTrip
	for k := range m {
		if d, ok := partition.ParseDueKey([]byte(k)); ok && k >= string(partition.DueKey(from)) && d.Due <= upTo {
			out = append(out, d)
		}
	}
	sort.Slice(out, func(i, j int) bool { return string(partition.DueKey(out[i])) < string(partition.DueKey(out[j])) })
	return out[:min(limit, len(out))], nil
}

// setup is how the partitions of one test are made.
type setup struct {
	mode     partition.Mode
	settings partition.Settings
	book     *rule.Book
	runner   partition.Runner
	byAge    int64 // from which seal on new trips are put by age
}

// eventFile is a setup without horizon and rules, as for a file of events.
func eventFile(maxKmh float64) setup {
	s := setup{partition.File, partition.DefaultSettings(), &rule.Book{}, partition.Direct{}, 1}
	s.settings.Trip.MaxSpeedKmh = maxKmh
	s.settings.Trip.Horizon = 0
	return s
}

// fresh is a partition that knows some of the tariffs.
func (s setup) fresh(tariffs []schemas.Tariff, store partition.Store, now schemas.Millis) *partition.Partition {
	p := partition.New(7, s.mode, s.settings, s.book, s.runner, store, now)
	for i, tariff := range tariffs {
		if err := p.PutTariff(schemas.Offset(i), tariff); err != nil {
			panic(err) // nothing waits in a fresh partition
		}
	}
	for _, topic := range schemas.Inputs {
		p.StartAt(topic, 0)
	}
	return p
}

func (s setup) restore(t rapid.TB, store memStore, now schemas.Millis) *partition.Partition {
	t.Helper()
	p, err := partition.Restore(store[string(partition.HeaderKey())], 7, s.mode, s.settings, s.book, s.runner, store, now)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// batches cuts an arrival into batches of at most limit records.
func batches(records []schemas.Record, limit int) [][]schemas.Record {
	return slices.Collect(slices.Chunk(records, limit))
}

// consume feeds one batch from a buffer that is scribbled over afterwards, as a
// consumer's fetch buffer is.
func consume(t rapid.TB, p *partition.Partition, records []schemas.Record, now schemas.Millis) {
	t.Helper()
	var buffer []byte
	alias := func(s string) string {
		at := len(buffer)
		buffer = append(buffer, s...)
		if s == "" {
			return ""
		}
		return unsafe.String(&buffer[at], len(s))
	}
	buffer = make([]byte, 0, 1<<10*len(records))
	lent := slices.Clone(records)
	for i := range lent {
		r := &lent[i]
		r.TripID, r.EventID, r.Rectifies = schemas.TripID(alias(string(r.TripID))), schemas.EventID(alias(string(r.EventID))), schemas.EventID(alias(string(r.Rectifies)))
		r.Ride.Region, r.Ride.Category = alias(r.Ride.Region), alias(r.Ride.Category)
		r.Payment.Means = alias(r.Payment.Means)
		r.Key = []byte(alias(string(r.Key)))
	}
	b := schemas.Batch{Partition: p.ID(), Records: lent}
	for _, r := range lent {
		b.Next[r.Topic] = r.Offset + 1
	}
	if err := p.Consume(&b, now); err != nil {
		t.Fatal(err)
	}
	for i := range buffer {
		buffer[i] = '#'
	}
	for i := range lent {
		clear(lent[i].Key)
		clear(lent[i].Value)
	}
}
