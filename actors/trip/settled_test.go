package trip_test

import (
	"bytes"
	"fmt"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"taximeter/actors/trip"
	"taximeter/schemas"
)

// twins are one trip twice: all points of the one stay in memory, those of the other leave
// it and are read back when a step asks for them.
type twins struct {
	env            [2]*trip.Env
	whole, settled *trip.State
	parts          map[int][]byte
	recalled       int
}

func newTwins(t rapid.TB) *twins {
	return &twins{env: [2]*trip.Env{newEnv(t), newEnv(t)}, whole: trip.New("c"), settled: trip.New("c"), parts: make(map[int][]byte)}
}

func (w *twins) take(t rapid.TB, e *schemas.Event) {
	if w.settled.Misses(e) {
		w.recall(t)
	}
	if a, b := w.whole.Take(w.env[0], e), w.settled.Take(w.env[1], e); a != b {
		t.Fatalf("%s %s: %s with all points in memory, else %s", e.Kind, e.EventID, a, b)
	}
	w.compare(t)
}

func (w *twins) recall(t rapid.TB) {
	w.recalled += min(1, w.settled.ToRecall())
	recall(t, w.settled, w.parts)
}

func (w *twins) advance(t rapid.TB, by schemas.Millis) {
	for i, s := range []*trip.State{w.whole, w.settled} {
		w.env[i].Watermark = max(w.env[i].Watermark, t0).Add(by)
		s.Advance(w.env[i])
	}
	w.compare(t)
}

func (w *twins) seal(t rapid.TB) {
	if w.settled.HasNewPoints() {
		writePoints(w.settled, w.parts)
	}
	w.settled.Settle()
	w.compare(t)
}

// compare wants the same heads, which hold all but the points, and the same effects.
func (w *twins) compare(t rapid.TB) {
	t.Helper()
	if a, b := w.whole.AppendHead(nil), w.settled.AppendHead(nil); !bytes.Equal(a, b) {
		t.Fatalf("with all points in memory\n%x, else\n%x", a, b)
	}
	if !reflect.DeepEqual(w.env[0].Out, w.env[1].Out) {
		t.Fatalf("with all points in memory %+v, else %+v", w.env[0].Out, w.env[1].Out)
	}
	watermark := w.env[0].Watermark
	if a, b := w.whole.Summary(watermark), w.settled.Summary(watermark); a != b {
		t.Fatalf("with all points in memory %+v, else %+v", a, b)
	}
	*w.env[0].Out, *w.env[1].Out = trip.Effects{}, trip.Effects{}
}

var (
	steps = []string{"point", "point", "point", "point", "point", "point", "point", "point", "point", "point", "point", "point",
		"again", "ride", "ride", "pay", "advance", "seal", "seal", "seal", "seal", "restart"}
	rideKinds = []schemas.Kind{schemas.RideCancel, schemas.RideEnd, schemas.RideRequest, schemas.RideMatch, schemas.RideStart, schemas.RideEnd, schemas.RideCancel, schemas.RideRating,
		schemas.Void, schemas.KindUnknown}
)

// What left memory changes nothing: no verdict, no effect, no byte of what is stored.
func TestPointsThatLeftMemoryAreNotMissed(t *testing.T) {
	recalled, settled := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		w := newTwins(t)
		now, sent := t0, []schemas.Event{}
		id := func() schemas.EventID {
			if rapid.IntRange(0, 9).Draw(t, "plain") == 0 {
				return schemas.EventID(fmt.Sprintf("e%d", len(sent)))
			}
			return schemas.EventID(fmt.Sprintf("%08x-c85b-50b7-8157-c57f2fb0%04x", len(sent)*7919, len(sent)))
		}
		link := func() schemas.EventID {
			if len(sent) == 0 || rapid.IntRange(0, 29).Draw(t, "links") > 0 {
				return ""
			}
			return rapid.SampledFrom(sent).Draw(t, "to").EventID
		}
		for range rapid.IntRange(10, 200).Draw(t, "steps") {
			e := schemas.Event{TripID: "c", EventID: id(), At: now}
			switch rapid.SampledFrom(steps).Draw(t, "step") {
			case "point":
				now += schemas.Millis(rapid.IntRange(0, 30).Draw(t, "s")) * schemas.Second
				e.Topic, e.Kind, e.Has, e.At = schemas.Telemetry, schemas.Position, schemas.HasPosition, now
				e.At -= rapid.SampledFrom([]schemas.Millis{0, 0, 0, 0, 0, 0, 0, 0, 0, 15_000, 60_000, 600_000}).Draw(t, "late")
				e.LatLon = schemas.LatLon{Lat: 41 + 0.001*float64(rapid.IntRange(0, 40).Draw(t, "lat")), Lon: -8.61}
				e.Rectifies = link()
			case "again":
				if len(sent) == 0 {
					continue
				}
				e = rapid.SampledFrom(sent).Draw(t, "which")
				if rapid.IntRange(0, 3).Draw(t, "other") == 0 {
					e.At = now + schemas.Second
				}
			case "ride":
				e.Topic, e.Kind, e.Rectifies = schemas.Rides, rapid.SampledFrom(rideKinds).Draw(t, "kind"), link()
				e.At += schemas.Millis(rapid.IntRange(-600, 60).Draw(t, "s")) * schemas.Second
			case "pay":
				e.Topic, e.Kind, e.Payment = schemas.Payments, schemas.PayCapture, schemas.PaymentDetail{Amount: 100}
			case "advance":
				w.advance(t, schemas.Millis(rapid.IntRange(1, 200).Draw(t, "s"))*schemas.Second)
				continue
			case "seal":
				w.seal(t)
				settled += min(1, w.settled.ToRecall())
				continue
			case "restart": // from what the last seal and the head hold
				w.seal(t)
				rows := make([][]byte, w.settled.Parts())
				for i := range rows {
					rows[i] = w.parts[i]
				}
				again, err := trip.RestoreParts(w.settled.AppendHead(nil), rows...)
				if err != nil {
					t.Fatal(err)
				}
				w.settled = again
				w.compare(t)
				continue
			}
			sent = append(sent, e)
			w.take(t, &e)
		}
		w.recall(t)
		if a, b := w.whole.View(w.env[0]), w.settled.View(w.env[1]); !reflect.DeepEqual(a, b) {
			t.Fatalf("with all points in memory %+v, else %+v", a, b)
		}
		if a, b := w.whole.AppendTo(nil), w.settled.AppendTo(nil); !bytes.Equal(a, b) {
			t.Fatalf("with all points in memory\n%x, else\n%x", a, b)
		}
		recalled += w.recalled
	})
	if recalled == 0 || settled == 0 {
		t.Errorf("points were in the store only at %d seals and were read back %d times: nothing was tried", settled, recalled)
	}
}
