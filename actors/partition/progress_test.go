package partition_test

import (
	"testing"

	"pgregory.net/rapid"

	"taximeter/actors/partition"
	"taximeter/schemas"
)

// Whatever the two clocks have seen: payments are never paused, never are both of the
// others, and nobody is paused for a source that has no data, is idle or has ended. So
// there is always somebody to read from, and reading from them moves time.
func TestSomebodyIsAlwaysRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := eventFile(0)
		s.mode = rapid.SampledFrom([]partition.Mode{partition.Live, partition.Replay}).Draw(t, "mode")
		p := s.fresh(nil, nil, t0)
		now := t0
		var next [schemas.NumInputs]schemas.Offset
		var ended [schemas.NumInputs]bool
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			now += schemas.Millis(rapid.IntRange(0, 20_000).Draw(t, "wall"))
			topic := rapid.SampledFrom([]schemas.Topic{schemas.Telemetry, schemas.Rides}).Draw(t, "topic")
			switch rapid.SampledFrom([]string{"record", "record", "record", "tick", "end"}).Draw(t, "do") {
			case "record":
				if ended[topic] || p.Pause()[topic] {
					continue
				}
				e := schemas.Event{Topic: topic, Kind: schemas.RideRating, TripID: "c", EventID: nameOf(int(next[topic])), LatLon: schemas.LatLon{Lat: 1, Lon: 1},
					At: t0 + schemas.Minute*schemas.Millis(rapid.IntRange(0, 60).Draw(t, "at"))}
				consume(t, p, []schemas.Record{{Event: e, Offset: next[topic], AppendedAt: schemas.NoTime, Key: []byte("c")}}, now)
				next[topic]++
			case "tick":
				var status [schemas.NumInputs]partition.SourceStatus
				for i := range status {
					status[i] = partition.SourceStatus{CaughtUp: rapid.Bool().Draw(t, "caughtUp"), FetchedAt: now - schemas.Millis(rapid.SampledFrom([]int{0, 11_000}).Draw(t, "ago"))}
				}
				if err := p.Tick(now, status); err != nil {
					t.Fatal(err)
				}
			case "end":
				if s.mode == partition.Replay {
					ended[topic] = true
					if err := p.EndSource(topic, now); err != nil {
						t.Fatal(err)
					}
				}
			}
			pause := p.Pause()
			if pause[schemas.Payments] || pause[schemas.Telemetry] && pause[schemas.Rides] {
				t.Fatalf("paused %v", pause)
			}
			for topic := range numClocks {
				other := 1 - topic
				slow := p.SourceMax(other)
				waits := slow != schemas.NoTime && !ended[other] && !p.SourceIdle(other) && p.SourceMax(topic) > slow+5*schemas.Minute && !ended[topic]
				if pause[topic] != waits {
					t.Fatalf("%s paused: %v, want %v; it is at %s, the other at %s, idle %v, ended %v", topic, pause[topic], waits,
						p.SourceMax(topic), slow, p.SourceIdle(other), ended[other])
				}
			}
		}
	})
}

const numClocks = schemas.Topic(2)
