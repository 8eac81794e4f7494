package partition_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"taximeter/actors/partition"
	"taximeter/actors/trip"
	"taximeter/schemas"
)

// byAgePrefix begins the rows of trips that lie by age.
const byAgePrefix = "v/"

// mustBeFound wants every row of a trip to be one that the trip, found by its id, knows of.
func (m memStore) mustBeFound(t rapid.TB) {
	t.Helper()
	known, rows := 0, 0
	for k, row := range m {
		if strings.HasPrefix(k, "t/") || strings.HasPrefix(k, byAgePrefix) {
			rows++
			if id, known, err := partition.Knows(m, []byte(k)); !known || err != nil {
				t.Fatalf("trip %q does not know of its row %q: %v", id, k, err)
			}
		}
		id, ok := partition.ParseTripKey([]byte(k))
		if !ok {
			continue
		}
		found, err := partition.ReadTrip(m, id)
		if err != nil || found == nil {
			t.Fatalf("trip %q is not read: %v", id, err)
		}
		known += 1 + found.Parts()
		if row[0] > trip.MaxParts { // it points to the head
			known++
		}
	}
	if rows != known {
		t.Fatalf("%d rows of trips, and trips know of %d", rows, known)
	}
}

// at is a point of a trip so long after t0.
func at(id schemas.TripID, offset schemas.Offset, after schemas.Millis) schemas.Record {
	return schemas.Record{Offset: offset, AppendedAt: schemas.NoTime, Key: []byte(id), Event: schemas.Event{Topic: schemas.Telemetry, Kind: schemas.Position,
		Has: schemas.HasPosition, TripID: id, EventID: nameOf(int(offset)), At: t0 + after, LatLon: schemas.LatLon{Lat: 41.15, Lon: -8.61}}}
}

// What a trip wrote before the layout changed stays where it is, is written on there and
// found; only trips that come later lie by age, behind all that came before them.
func TestTripsStayWhereTheyWereFirstStored(t *testing.T) {
	s := eventFile(160)
	rows := memStore{}
	p := s.fresh(tariffs(), rows, 0)
	seal := func(n int64) {
		rows.apply(p.Seal(n).Changes)
		rows.mustBeFound(t)
		p.Sweep(0, 0)
	}
	consume(t, p, []schemas.Record{at("old", 0, 0)}, 0)
	seal(1)
	p = s.restore(t, rows, 0)
	p.SetLayout(partition.ByAge)
	consume(t, p, []schemas.Record{at("z", 1, schemas.Minute), at("old", 2, schemas.Minute)}, 0)
	seal(2)
	p = s.restore(t, rows, 0)
	p.SetLayout(partition.ByID) // there is no way back
	consume(t, p, []schemas.Record{at("a", 3, schemas.Hour), at("z", 4, schemas.Hour)}, 0)
	seal(3)

	heads := func() (ids []schemas.TripID) {
		var keys []string
		for k := range rows {
			if strings.HasPrefix(k, byAgePrefix) {
				keys = append(keys, k)
			}
		}
		slices.Sort(keys)
		for _, k := range keys {
			if id := schemas.TripID(k[len(byAgePrefix)+5:]); len(id) == 1 { // of a minute and the length
				ids = append(ids, id)
			}
		}
		return ids
	}
	if got := heads(); !slices.Equal(got, []schemas.TripID{"z", "a"}) {
		t.Errorf("by age lie %q", got)
	}
	for id, points := range map[schemas.TripID]int{"old": 2, "z": 2, "a": 1} {
		v, known, err := p.View(id)
		if err != nil || !known || v.Events.Telemetry != points {
			t.Errorf("trip %q: known %v with %d points, want %d; %v", id, known, v.Events.Telemetry, points, err)
		}
	}
}

// A reader of the rows is told what is wrong with them.
func TestDamagedPointersAreNamed(t *testing.T) {
	p := eventFile(160).fresh(tariffs(), nil, 0)
	p.SetLayout(partition.ByAge)
	consume(t, p, []schemas.Record{at("a", 0, 0)}, 0)
	whole := memStore{}
	whole.apply(p.Seal(1).Changes)
	key := string(partition.TripKey("a"))
	for want, damage := range map[string]func(memStore){
		"pointer":             func(m memStore) { m[key] = m[key][:1] },
		"head row is missing": func(m memStore) { m[key] = []byte{trip.MaxParts + 1, 7} },
		"head row is damaged": func(m memStore) { m[key] = []byte{trip.MaxParts + 2} },
	} {
		rows := memStore{}
		for k, v := range whole {
			rows[k] = v
		}
		damage(rows)
		if _, err := partition.ReadTrip(rows, "a"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", want, err)
		}
	}
}

// A trip forgotten long after its last seal leaves rows; the next of the same id takes all of
// them over, and those that it does not need go.
func TestAForgottenTripsRowsGo(t *testing.T) {
	s := eventFile(160)
	s.settings.Trip.Horizon = schemas.Day
	rows := memStore{}
	p := s.fresh(tariffs(), rows, 0)
	p.SetLayout(partition.ByAge)
	seal := func(n int64) {
		rows.apply(p.Seal(n).Changes)
		rows.mustBeFound(t)
		p.Sweep(1<<30, 1<<30) // points leave, so that those which follow get a row of their own
	}
	next := schemas.Offset(0)
	for n := range int64(3) {
		for range 40 {
			consume(t, p, []schemas.Record{at("a", next, schemas.Millis(next)*schemas.Second)}, 0)
			next++
		}
		seal(n + 1)
	}
	consume(t, p, []schemas.Record{at("b", next, 100*schemas.Day), at("a", next+1, 100*schemas.Day)}, 0)
	seal(4)
	if v, known, err := p.View("a"); err != nil || !known || v.Events.Telemetry != 1 {
		t.Errorf("got %+v, %v", v, err)
	}
}

// A row that is left behind is told from those that its trip reads.
func TestRowsThatNoTripKnowsOf(t *testing.T) {
	for _, layout := range []partition.Layout{partition.ByID, partition.ByAge} {
		p := eventFile(160).fresh(tariffs(), nil, 0)
		p.SetLayout(layout)
		consume(t, p, []schemas.Record{at("a", 0, 0), at("b", 1, 0)}, 0)
		rows := memStore{}
		rows.apply(p.Seal(1).Changes)
		rows.mustBeFound(t)
		under := string(partition.TripKey("a"))
		var lies string // the row of a's points
		for k := range rows {
			if strings.Contains(k, "a\x00\x00\x00\x00") {
				lies = k
			}
		}
		beside := []byte(lies)
		beside[len(beside)-1]++ // one more than it has
		earlier := slices.Clone([]byte("v/\x00\x00\x00\x07" + under[len("t/"):]))
		for _, key := range [][]byte{beside, earlier, append(slices.Clone(earlier), 0, 0, 0, 0), []byte("v/\x00\x00"), []byte("v/\x00\x00\x00\x07\x09a")} {
			if id, known, err := partition.Knows(rows, key); known || err != nil {
				t.Errorf("layout %d: trip %q knows of %q, %v", layout, id, key, err)
			}
		}
		delete(rows, under)
		if id, known, err := partition.Knows(rows, []byte(lies)); id != "a" || known || err != nil {
			t.Errorf("layout %d: trip %q, which is gone, knows of %q, %v", layout, id, lies, err)
		}
	}
}
