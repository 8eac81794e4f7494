package traffic

import (
	"math"
	"testing"

	"taximeter/schemas"
)

func TestShares(t *testing.T) {
	for _, c := range []struct {
		name      string
		cfg       Config
		telemetry float64
	}{{"mixed", Mixed(), 0.60}, {"tracking", Tracking(), 0.90}} {
		t.Run(c.name, func(t *testing.T) {
			c.cfg.Events = 200_000
			s := New(c.cfg)
			last := schemas.NoTime
			for l, ok := s.Next(); ok; l, ok = s.Next() {
				if l.AppendedAt < last {
					t.Fatalf("record %d is appended at %v, before %v", l.Number, l.AppendedAt, last)
				}
				last = l.AppendedAt
			}
			n := s.Counts()
			for _, share := range []struct {
				what       string
				n          int64
				want, free float64 // free: relative
			}{
				{"telemetry", n.Telemetry, c.telemetry, 0.02},
				{"repeated", n.Repeated, repeatedShare, 0.05},
				{"late", n.Late, lateShare, 0.08},
				{"very late", n.VeryLate, veryLateShare, 0.4},
				{"invalid", n.Invalid, invalidShare, 0.15},
				{"records per trip", n.Records, float64(n.Trips) * c.cfg.recordsPerTrip() / float64(n.Records), 0.05},
			} {
				if got := float64(share.n) / float64(n.Records); math.Abs(got/share.want-1) > share.free {
					t.Errorf("%s: %.5f of the records, want %.5f", share.what, got, share.want)
				}
			}
			if n.Future != 1 || math.Abs(float64(n.Records)/200_000-1) > 0.01 {
				t.Errorf("%d from the future in %d records", n.Future, n.Records)
			}
		})
	}
}

func TestSameSeedSameTraffic(t *testing.T) {
	a, b := New(Mixed()), New(Mixed())
	for range 10_000 {
		x, _ := a.Next()
		y, _ := b.Next()
		if x.Topic != y.Topic || x.AppendedAt != y.AppendedAt || string(x.Key) != string(y.Key) || x.EventTime() != y.EventTime() {
			t.Fatalf("%+v\n%+v", x, y)
		}
	}
}

func BenchmarkNext(b *testing.B) {
	s := New(Mixed())
	b.ReportAllocs()
	for b.Loop() {
		s.Next()
	}
}
