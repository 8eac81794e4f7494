package partition_test

import (
	"strings"
	"testing"

	"taximeter/schemas"
)

// What no destination could take would stop the partition's results for ever.
func TestATextThatResultsCannotCarryIsADeadLetter(t *testing.T) {
	for name, set := range map[string]func(long string, e *schemas.Event){
		"trip":      func(long string, e *schemas.Event) { e.TripID = schemas.TripID(long) },
		"event":     func(long string, e *schemas.Event) { e.EventID = schemas.EventID(long) },
		"retifica":  func(long string, e *schemas.Event) { e.Rectifies = schemas.EventID(long) },
		"regiao":    func(long string, e *schemas.Event) { e.Ride.Region, e.Has = long, schemas.HasRegion },
		"categoria": func(long string, e *schemas.Event) { e.Ride.Category, e.Has = long, schemas.HasCategory },
	} {
		t.Run(name, func(t *testing.T) {
			p := eventFile(0).fresh(tariffs(), nil, t0)
			records := []schemas.Record{}
			for i, length := range []int{schemas.MaxText, schemas.MaxText + 1} {
				e := schemas.Event{Topic: schemas.Rides, Kind: schemas.RideStart, TripID: "t", EventID: "e", At: t0}
				set(strings.Repeat("x", length), &e)
				records = append(records, schemas.Record{Offset: schemas.Offset(i), AppendedAt: schemas.NoTime, Key: []byte(e.TripID), Event: e})
			}
			consume(t, p, records, t0)
			out, _ := p.Drain()
			if len(out.DeadLetters) != 1 || out.DeadLetters[0].Offset != 1 || out.DeadLetters[0].Reason != schemas.DLQUnreadable ||
				out.DeadLetters[0].Detail != "an id or another text is longer than 1024 bytes" {
				t.Errorf("%+v; want the longer one", out.DeadLetters)
			}
		})
	}
}
