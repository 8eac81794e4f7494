package city

import (
	"bytes"
	"fmt"
	"math"
	"testing"

	"taximeter/schemas"
	"taximeter/schemas/codec"
	"taximeter/schemas/edge"
)

const morning schemas.Millis = 1_764_000_000_000

func mustNew(t testing.TB, cfg Config) *City {
	t.Helper()
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// write gives the whole stream as an event file.
func write(t *testing.T, cfg Config) []byte {
	t.Helper()
	c := mustNew(t, cfg)
	var out bytes.Buffer
	w := edge.NewWriter(&out)
	for l, ok := c.Next(); ok; l, ok = c.Next() {
		if err := w.Write(l); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestSameSeedSameCity(t *testing.T) {
	cfg := Default(1, morning)
	cfg.Events = 20_000
	one, two := write(t, cfg), write(t, cfg)
	if !bytes.Equal(one, two) {
		t.Fatal("the same configuration gives two cities")
	}
	cfg.Events = 5_000
	if short := write(t, cfg); !bytes.HasPrefix(one, short) {
		t.Fatal("a longer run does not begin with the shorter one")
	}
	cfg.Seed = 2
	if other := write(t, cfg); bytes.HasPrefix(one, other[:1000]) {
		t.Fatal("another seed gives the same city")
	}
}

func TestARecordedCityReadsBack(t *testing.T) {
	cfg := Default(3, morning)
	cfg.Events = 30_000
	r := edge.NewReader("city", bytes.NewReader(write(t, cfg)))
	for range cfg.Events {
		l, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if l.Fault != schemas.Counted && l.Raw == nil {
			t.Fatalf("line %d: %v %s", l.Number, l.Fault, l.Detail)
		}
	}
}

// tally is all that the tests below ask of one long run.
type tally struct {
	Counts
	topics      [schemas.NumInputs]int64
	kinds       map[string]int64 // topic and symbol
	faults      map[schemas.Verdict]int64
	events      map[eventKey]content
	again       int64 // events that came before
	changed     int64 // of these, with other content
	disorder    int64
	steady      int64          // records appended between 30 minutes and 2 hours after the start
	worstAhead  schemas.Millis // ocorridoEm past AppendedAt, but for those ahead on purpose
	first, last schemas.Millis // AppendedAt
}

type eventKey struct {
	topic schemas.Topic
	trip  schemas.TripID
	id    schemas.EventID
}

type content struct {
	kind      schemas.Kind
	at        schemas.Millis
	place     schemas.LatLon
	amount    schemas.Cents
	rectifies schemas.EventID
}

func survey(t testing.TB, cfg Config) *tally {
	t.Helper()
	c := mustNew(t, cfg)
	s := &tally{kinds: map[string]int64{}, faults: map[schemas.Verdict]int64{}, events: map[eventKey]content{}, first: schemas.NoTime, worstAhead: schemas.NoTime}
	decoder := codec.NewDecoder()
	for l, ok := c.Next(); ok; l, ok = c.Next() {
		if s.first == schemas.NoTime {
			s.first, s.last = l.AppendedAt, l.AppendedAt
		}
		if l.AppendedAt < s.last {
			s.disorder++
		}
		s.last = l.AppendedAt
		s.topics[l.Topic]++
		if age := l.AppendedAt - cfg.Start; age >= 30*schemas.Minute && age < 2*schemas.Hour {
			s.steady++
		}
		var r schemas.Record
		l.Record(&r)
		switch {
		case l.Raw != nil:
			r.Fault = schemas.DLQUnreadable
			if err := decoder.Decode(l.Topic, l.Raw, &r.Event); err == nil {
				t.Fatalf("raw record %x can be read", l.Raw)
			}
		default:
			r.Fault = schemas.CheckEvent(&r.Event, l.Key)
			s.kinds[fmt.Sprint(l.Topic, " ", r.Kind)]++
		}
		if r.Fault != schemas.Counted {
			s.faults[r.Fault]++
			continue
		}
		if r.At > l.AppendedAt+2*schemas.Minute {
			continue
		}
		s.worstAhead = max(s.worstAhead, r.At-l.AppendedAt)
		key, now := eventKey{l.Topic, r.TripID, r.EventID}, content{r.Kind, r.At, r.LatLon, r.Payment.Amount, r.Rectifies}
		if had, ok := s.events[key]; ok {
			s.again++
			if had != now {
				s.changed++
			}
		}
		s.events[key] = now
	}
	s.Counts = c.Counts()
	return s
}

func TestWhatACityDoes(t *testing.T) {
	cfg := Default(5, morning)
	cfg.EventsPerSecond, cfg.Span = 20, 2*schemas.Hour // to the end, so that even the latest is there
	s := survey(t, cfg)

	t.Run("appended in order, and never before it happened", func(t *testing.T) {
		if s.disorder != 0 || s.first < morning || s.worstAhead > 0 {
			t.Errorf("%d out of order, first at %v, ocorridoEm up to %d ms past append", s.disorder, s.first, s.worstAhead)
		}
	})
	t.Run("at the rate asked for", func(t *testing.T) {
		rate := float64(s.steady) / (90 * 60)
		if math.Abs(rate/cfg.EventsPerSecond-1) > 0.08 {
			t.Errorf("%.1f events per second, want %.0f", rate, cfg.EventsPerSecond)
		}
		if share := float64(s.topics[schemas.Telemetry]) / float64(s.Records); share < 0.85 || share > 0.97 {
			t.Errorf("%.3f of the records are telemetry", share)
		}
	})
	t.Run("with faults at their shares", func(t *testing.T) {
		for _, c := range []struct {
			what           string
			n              int64
			share, freedom float64
		}{
			{"repeated", s.Repeated, repeatedShare, 0.2},
			{"late", s.Late, lateShare, 0.15},
			{"very late", s.VeryLate, veryLateShare, 0.4},
			{"invalid", s.Invalid, invalidShare, 0.2},
		} {
			if got := float64(c.n) / float64(s.Records); math.Abs(got/c.share-1) > c.freedom {
				t.Errorf("%s: share %.5f, want %.5f within %.0f %%", c.what, got, c.share, 100*c.freedom)
			}
		}
		if s.Ahead < 1 {
			t.Error("no phone had a fast clock")
		}
	})
	t.Run("and every kind of thing", func(t *testing.T) {
		for topic := schemas.Topic(0); topic < schemas.NumInputs; topic++ {
			for k := schemas.Position; k <= schemas.Void; k++ {
				name := fmt.Sprint(topic, " ", k)
				if k == schemas.PayBill {
					continue // the meter's own
				}
				if k.In(topic) && s.kinds[name] == 0 {
					t.Errorf("no %s in %d records", name, s.Records)
				}
			}
		}
		for _, v := range []schemas.Verdict{schemas.DLQUnreadable, schemas.DLQNoTripID, schemas.DLQNoEventID,
			schemas.DLQKeyDiffers, schemas.DLQBadInstant, schemas.DLQBadPosition} {
			if s.faults[v] == 0 {
				t.Errorf("nothing is %v: %v", v, s.faults)
			}
		}
		if s.Rectifies == 0 {
			t.Error("nobody corrected anything")
		}
	})
	t.Run("repeats being exact", func(t *testing.T) {
		if s.again != s.Repeated || s.changed != 0 {
			t.Errorf("%d events came again, %d were counted; %d with other content", s.again, s.Repeated, s.changed)
		}
	})
	t.Run("invalid ones being counted", func(t *testing.T) {
		total := int64(0)
		for _, n := range s.faults {
			total += n
		}
		if total != s.Invalid {
			t.Errorf("%d records are invalid, %d were counted", total, s.Invalid)
		}
	})
}

func TestSpanEndsOnceItsTripsAreOver(t *testing.T) {
	cfg := Default(7, morning)
	cfg.EventsPerSecond, cfg.Span = 20, 30*schemas.Minute
	s := survey(t, cfg)
	if s.kinds["corridas.eventos TERMINO"] == 0 || s.last < morning+40*schemas.Minute {
		t.Fatalf("over at %v with %d ends", s.last, s.kinds["corridas.eventos TERMINO"])
	}
}

func TestBadConfigurationsAreTold(t *testing.T) {
	_, err := New(Config{EventsPerSecond: math.NaN(), Events: -1, Span: -1, Regions: []Region{{}}})
	if err == nil {
		t.Fatal("taken")
	}
	for _, path := range []string{"start:", "events per second:", "events:", "span:", "regions[0]:", "tariffs:"} {
		if !bytes.Contains([]byte(err.Error()), []byte(path)) {
			t.Errorf("%q is not told: %v", path, err)
		}
	}
}

func BenchmarkNext(b *testing.B) {
	cfg := Default(1, morning)
	cfg.EventsPerSecond = 9000
	c := mustNew(b, cfg)
	b.ReportAllocs()
	for b.Loop() {
		c.Next()
	}
}
