package main

import (
	"fmt"

	"taximeter/bench/internal/oracle"
	"taximeter/bench/internal/traffic"
	"taximeter/schemas"
	"taximeter/schemas/edge"
)

// plainTruth is what the plain forms must find: how many positions, accepted or not, each
// window holds. They see one window at a time, so that what they publish beside it (lengths
// and speeds) lacks the segments that cross a border; and they drop what comes too late and
// ignore corrections, so the windows that such positions touch are left out.
type plainTruth struct {
	positions map[oracle.WindowKey]int
	leftOut   map[oracle.WindowKey]bool
}

// surelyInTime is the longest way of a position that no plain form drops: two minutes of
// disorder and two of allowed lateness.
const surelyInTime = 4 * schemas.Minute

const windowSize = 5 * schemas.Minute

func plainWindows(all *oracle.Results, cfg traffic.Config) *plainTruth {
	t := &plainTruth{positions: map[oracle.WindowKey]int{}, leftOut: map[oracle.WindowKey]bool{}}
	rectified := map[schemas.EventID]bool{}
	each(cfg, func(l *edge.Line) {
		if r := l.Telemetry.Rectifies; r != nil {
			rectified[*r] = true
		}
	})
	each(cfg, func(l *edge.Line) {
		r := l.Telemetry
		if r.Rectifies != nil || rectified[r.EventID] || l.AppendedAt-r.At > surelyInTime {
			t.leftOut[oracle.WindowKey{Trip: r.TripID, Start: r.At - r.At%windowSize}] = true
		}
	})
	for k, w := range all.Windows {
		if n := w.Points + w.Rejected; n > 0 {
			t.positions[k] = n
		}
	}
	return t
}

func each(cfg traffic.Config, take func(*edge.Line)) {
	stream := traffic.New(cfg)
	for l, ok := stream.Next(); ok; l, ok = stream.Next() {
		if l.Telemetry != nil {
			take(&l)
		}
	}
}

// compare counts the windows that differ, and tells some.
func (t *plainTruth) compare(got *oracle.Results) (differences int, some []string) {
	tell := func(k oracle.WindowKey, got, want int) {
		if t.leftOut[k] || got == want {
			return
		}
		if differences++; len(some) < 10 {
			some = append(some, fmt.Sprintf("window %v: %d positions published, %d simulated", k, got, want))
		}
	}
	for k, n := range t.positions {
		w := got.Windows[k]
		tell(k, w.Points+w.Rejected, n)
	}
	for k, w := range got.Windows {
		if t.positions[k] == 0 {
			tell(k, w.Points+w.Rejected, 0)
		}
	}
	return differences, some
}
