package feed

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"taximeter/schemas"
	"taximeter/schemas/edge"
)

func at(ms schemas.Millis) *edge.Line {
	return &edge.Line{Topic: schemas.Rides, AppendedAt: schemas.NoTime, Ride: &schemas.RideRecord{At: ms}}
}

func TestPacerKeepsTheRecordedPace(t *testing.T) {
	const t0 = 1_764_000_000_000
	for _, c := range []struct {
		speed Speed
		at    []schemas.Millis
		want  time.Duration
	}{
		{1, []schemas.Millis{t0, t0 + 1000, t0 + 2000, t0 + 2000}, 2 * time.Second},
		{60, []schemas.Millis{t0, t0, t0 + 60_000, t0 + 60_000}, time.Second},
		{0.5, []schemas.Millis{t0, t0, t0 + 1000, t0 + 1000}, 2 * time.Second},
		{0, []schemas.Millis{t0, t0, t0 + 9_000_000, t0 + 9_000_000}, 0},
		// A wrong clock stops nothing, whatever comes before or after it.
		{1, []schemas.Millis{t0, t0, t0 + 1e12, t0 + 1000, 0, t0 + 1000, t0 - 1e10, t0 + 2000, t0 + 2000}, 2 * time.Second},
		{1, []schemas.Millis{t0 + 1e12, t0, t0, t0 + 1000, t0 + 1000}, time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			p, began := NewPacer(c.speed), time.Now()
			for _, ms := range c.at {
				if err := p.Wait(t.Context(), at(ms)); err != nil {
					t.Fatal(err)
				}
			}
			if took := time.Since(began); took != c.want {
				t.Errorf("speed %v, %v: %v, want %v", c.speed, c.at, took, c.want)
			}
		})
	}
}

func TestPacerStopsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		p := NewPacer(1)
		for _, ms := range []schemas.Millis{schemas.MinInstant, schemas.MinInstant} {
			if err := p.Wait(ctx, at(ms)); err != nil {
				t.Fatal(err)
			}
		}
		_ = p.Wait(ctx, at(schemas.MinInstant+schemas.Hour)) // not yet confirmed
		if err := p.Wait(ctx, at(schemas.MinInstant+schemas.Hour)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
	})
}

func TestParseSpeed(t *testing.T) {
	for text, want := range map[string]Speed{"max": 0, "1": 1, "0.5": 0.5, "60": 60} {
		if got, err := ParseSpeed(text); got != want || err != nil {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "0", "-1", "fast", "NaN", "Inf", "1x"} {
		if got, err := ParseSpeed(text); err == nil {
			t.Errorf("%q is taken as %v", text, got)
		}
	}
}
