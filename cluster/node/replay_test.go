package node

import (
	"testing"

	"taximeter/actors/ingest"
	"taximeter/checkpoint"
	"taximeter/schemas"
)

func TestAReplayIsFinishedOnlyPastItsOwnEnds(t *testing.T) {
	ended := checkpoint.Entry{Next: checkpoint.Offsets{10, 5, 3}, Watermark: schemas.EndOfTime}
	with := func(change func(e *checkpoint.Entry)) checkpoint.Entry {
		e := ended
		change(&e)
		return e
	}
	ends := ingest.Offsets{0: {10, 5, 3}, 1: {10, 5, 3}}
	for name, c := range map[string]struct {
		second checkpoint.Entry
		want   bool
	}{
		"all is consumed":                 {ended, true},
		"more than its ends":              {with(func(e *checkpoint.Entry) { e.Next[schemas.Payments] = 7 }), true},
		"an earlier replay ended earlier": {with(func(e *checkpoint.Entry) { e.Next[schemas.Rides] = 4 }), false},
		"time is not at its end":          {with(func(e *checkpoint.Entry) { e.Watermark = 5 }), false},
		"an outbox waits":                 {with(func(e *checkpoint.Entry) { e.Pending = make([]checkpoint.OutboxRef, 1) }), false},
		"an alert waits":                  {with(func(e *checkpoint.Entry) { e.Alerts.Unsent = make([]schemas.Alert, 1) }), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := finished(&checkpoint.Manifest{Entries: []checkpoint.Entry{ended, c.second}}, ends); got != c.want {
				t.Errorf("finished = %t", got)
			}
		})
	}
	if finished(nil, ends) {
		t.Error("finished without a chain")
	}
}
