package trip_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"testing"

	"pgregory.net/rapid"

	"taximeter/actors/rule"
	"taximeter/actors/tariff"
	"taximeter/actors/trip"
	"taximeter/schemas"
)

const t0 schemas.Millis = 1_767_261_600_000 // 2026-01-01T10:00:00Z

// newEnv is the surroundings of a trip: one tariff for everybody, rules that fire easily.
func newEnv(t rapid.TB) *trip.Env {
	t.Helper()
	book, err := rule.NewBook([]schemas.Rule{
		{RuleID: "a", Version: 1, Kind: "parada", Active: true, Params: map[string]string{"raioM": "100", "duracaoMin": "1"}},
		{RuleID: "b", Version: 1, Kind: "sem_sinal", Active: true, Params: map[string]string{"duracaoMin": "2"}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	settings := trip.DefaultSettings()
	env := &trip.Env{Settings: &settings, Tariffs: &tariff.Catalogue{}, Rules: book, Watermark: schemas.NoTime, Out: &trip.Effects{}}
	env.Tariffs.Put(0, schemas.Tariff{TariffID: "T", Region: schemas.Any, Category: schemas.Any, Currency: "EUR", Base: 2_000_000, PerKm: 1_000_000})
	return env
}

func positionAt(i int, at schemas.Millis) *schemas.Event {
	return &schemas.Event{Topic: schemas.Telemetry, Kind: schemas.Position, Has: schemas.HasPosition, TripID: "c", At: at,
		EventID: schemas.EventID(fmt.Sprintf("4e9cd96b-c85b-50b7-8157-c57f2fb0%04x", i)), LatLon: schemas.LatLon{Lat: 41.15 + 0.0005*float64(i), Lon: -8.61}}
}

// lives are the snapshots of trips in the states that a trip can be in.
func lives(t testing.TB) [][]byte {
	env := newEnv(t)
	s := trip.New("c")
	all := [][]byte{s.AppendTo(nil)}
	step := func(e *schemas.Event) {
		s.Take(env, e)
		all = append(all, s.AppendTo(nil))
	}
	ride := func(id, rectifies string, k schemas.Kind, at schemas.Millis) {
		step(&schemas.Event{Topic: schemas.Rides, Kind: k, TripID: "c", EventID: schemas.EventID(id), Rectifies: schemas.EventID(rectifies), At: at,
			Has: schemas.HasRegion | schemas.HasRoute, Ride: schemas.RideDetail{Region: "porto", Route: []schemas.LatLon{{Lat: 1, Lon: 2}}}})
	}
	ride("i", "", schemas.RideStart, t0)
	for i := range 5 {
		step(positionAt(i, t0+schemas.Millis(i)*30*schemas.Second))
	}
	linked := positionAt(9, t0+schemas.Minute)
	linked.Rectifies = positionAt(2, 0).EventID
	step(linked)
	spike := positionAt(300, t0+3*schemas.Minute)
	step(spike)
	step(&schemas.Event{Topic: schemas.Payments, Kind: schemas.PayAuthorization, TripID: "c", EventID: "p", Rectifies: "q", At: t0,
		Payment: schemas.PaymentDetail{Amount: 250, Means: "DINHEIRO"}})
	ride("t", "", schemas.RideEnd, t0+5*schemas.Minute)
	for _, w := range []schemas.Millis{t0 + 10*schemas.Minute, t0 + 25*schemas.Hour, t0 + 40*schemas.Day} {
		env.Watermark = w
		s.Advance(env)
		all = append(all, s.AppendTo(nil))
	}
	return all
}

func TestEverySnapshotComesBack(t *testing.T) {
	for i, b := range lives(t) {
		s, err := trip.Restore(b)
		if err != nil {
			t.Fatalf("life %d: %v", i, err)
		}
		if !bytes.Equal(s.AppendTo(nil), b) {
			t.Errorf("life %d comes back as another", i)
		}
		if _, err := trip.Restore(append(bytes.Clone(b), 0)); !errors.Is(err, trip.ErrSnapshot) {
			t.Errorf("life %d with a byte too many: %v", i, err)
		}
		for n := range b {
			if _, err := trip.Restore(b[:n]); !errors.Is(err, trip.ErrSnapshot) {
				t.Fatalf("life %d cut to %d of %d bytes: %v", i, n, len(b), err)
			}
		}
	}
}

// The smallest possible points: many at one instant with short ids.
func TestSnapshotOfTheSmallestPointsComesBack(t *testing.T) {
	env := newEnv(t)
	env.Rules = &rule.Book{}
	s := trip.New("c")
	for i := range 60 {
		e := positionAt(0, t0)
		e.EventID = schemas.EventID(rune('0' + i))
		s.Take(env, e)
	}
	if _, err := trip.Restore(s.AppendTo(nil)); err != nil {
		t.Fatal(err)
	}
}

// Damaged bytes are an error or a trip that can be looked at and used; never a panic, and
// never more memory than the bytes could hold.
func FuzzRestore(f *testing.F) {
	for _, b := range lives(f) {
		f.Add(b)
	}
	env := newEnv(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		s, err := trip.Restore(b)
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 64<<10+256*uint64(len(b)) {
			t.Errorf("%d bytes allocated to read %d", used, len(b))
		}
		if err != nil {
			if !errors.Is(err, trip.ErrSnapshot) {
				t.Errorf("%v does not wrap ErrSnapshot", err)
			}
			return
		}
		env.Watermark = t0
		s.View(env)
		s.Explain(env)
		again, err := trip.Restore(s.AppendTo(nil))
		if err != nil {
			t.Fatalf("what was read cannot be written and read again: %v", err)
		}
		*env.Out = trip.Effects{}
		again.Take(env, positionAt(77, t0))
		again.Take(env, positionAt(78, t0+schemas.Minute))
		env.Watermark = t0 + schemas.Hour
		again.Advance(env)
	})
}

// A count is not trusted with memory: a snapshot that claims 2^60 points is refused at once.
func TestRestoreDoesNotBelieveCounts(t *testing.T) {
	head := []byte{trip.SnapshotFormat, 1, 'c', 0, 0}
	head = binary.AppendVarint(head, 0)  // lastMove
	head = binary.AppendVarint(head, 0)  // due
	head = binary.AppendVarint(head, 0)  // droppedAt
	head = binary.AppendUvarint(head, 0) // duplicates
	head = binary.AppendUvarint(head, 0) // arena
	head = binary.AppendUvarint(head, 1<<60)
	if allocated := testing.AllocsPerRun(10, func() {
		if _, err := trip.Restore(head); !errors.Is(err, trip.ErrSnapshot) {
			t.Fatal(err)
		}
	}); allocated > 100 {
		t.Errorf("%v allocations", allocated)
	}
}
