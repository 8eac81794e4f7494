package window

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestTumblingProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := Tumbling{Size: rapid.Int64Range(1, last).Draw(t, "size")}
		w.Offset = rapid.Int64Range(0, w.Size-1).Draw(t, "offset")
		at := rapid.Int64().Draw(t, "at")
		s := w.Of(at)
		if at != last && !s.Contains(at) {
			t.Fatalf("%v does not hold %d", s, at)
		}
		if s.Start != first && s.End != last && s.End-s.Start != w.Size {
			t.Fatalf("%v is not of size %d", s, w.Size)
		}
		if s.End != last && w.Of(s.End).Start != s.End {
			t.Fatalf("the span after %v begins at %d", s, w.Of(s.End).Start)
		}
		if s.Start != first && w.Of(s.Start) != s {
			t.Fatalf("%v is not the span of its own start", s)
		}
	})
}

func TestHoppingProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := Hopping{Advance: rapid.Int64Range(1, 50).Draw(t, "advance")}
		h.Size = h.Advance + rapid.Int64Range(0, 200).Draw(t, "more")
		at := rapid.OneOf(rapid.Int64Range(-1000, 1000), rapid.Int64()).Draw(t, "at")
		spans := slices.Collect(h.Spans(at))
		if len(spans) == 0 {
			t.Fatal("in no window")
		}
		for i, s := range spans {
			if at != last && !s.Contains(at) {
				t.Fatalf("%v does not hold %d", s, at)
			}
			if i > 0 && s.Start != spans[i-1].Start+h.Advance {
				t.Fatalf("%v follows %v", s, spans[i-1])
			}
		}
		if s := spans[0]; at > -1001 && at < 1001 && s.Start-h.Advance+h.Size > at {
			t.Fatalf("%v, one advance before the first, holds %d too", s, at)
		}
	})
}

// Whatever the order of arrival within bound and lateness, and whenever it was restored, the
// operator ends with the same results.
func TestOrderOfArrivalDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bound := rapid.Int64Range(0, 20).Draw(t, "bound")
		cfg := Config[int, int]{
			Assign: rapid.SampledFrom([]Assigner{
				Tumbling{Size: 10, Offset: 3}, Hopping{Size: 10, Advance: 4}, Sessions{Gap: 7}, Sessions{Gap: 7, Touching: Merged},
			}).Draw(t, "assign"),
			Lateness: rapid.Int64Range(0, 20).Draw(t, "lateness"),
			Emit:     rapid.SampledFrom([]Emit{OnWatermark, OnClose}).Draw(t, "emit"),
			Add:      func(a, v int) int { return a + v },
			Merge:    func(a, b int) int { return a + b },
		}
		if _, sessions := cfg.Assign.(Sessions); sessions {
			cfg.Emit = OnClose // an early result of a session is replaced under another span
		}
		type event struct {
			Key       string
			At, Delay int64
			V         int
		}
		// An event delayed by less than bound+lateness finds all its windows open.
		delays := rapid.Int64Range(0, max(0, bound+cfg.Lateness-1))
		events := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) event {
			return event{
				rapid.SampledFrom([]string{"a", "b"}).Draw(t, "key"), rapid.Int64Range(-50, 100).Draw(t, "at"),
				delays.Draw(t, "delay"), rapid.IntRange(1, 1000).Draw(t, "v"),
			}
		}), 0, 40).Draw(t, "events")

		finals := func(order []event, restore bool) map[string]int {
			op, err := New[string](cfg)
			if err != nil {
				t.Fatal(err)
			}
			final := map[string]int{}
			note := func(results []Result[string, int]) {
				for _, r := range results {
					name := fmt.Sprintf("%s %v", r.Key, r.Span)
					if _, twice := final[name]; twice && (cfg.Emit == OnClose || r.Version == 1) {
						t.Fatalf("%s fired anew", name)
					}
					final[name] = r.Value
				}
			}
			for _, e := range order {
				out := op.Event(e.Key, e.At, e.V)
				if len(out.Dropped) > 0 {
					t.Fatalf("%+v was closed out of %v at watermark %d", e, out.Dropped, op.Watermark())
				}
				note(out.Results)
				note(op.Advance(before(e.At, bound)))
				if restore {
					op = throughBytes(t, cfg, op)
				}
			}
			note(op.Advance(last))
			if s := op.Snapshot(); len(s.Keys) != 0 {
				t.Fatalf("still open at the end of time: %+v", s.Keys)
			}
			return final
		}

		inOrder := slices.Clone(events)
		slices.SortStableFunc(inOrder, func(a, b event) int { return int(a.At - b.At) })
		arrival := slices.Clone(events)
		slices.SortStableFunc(arrival, func(a, b event) int { return int(a.At + a.Delay - b.At - b.Delay) })
		want, got := finals(inOrder, false), finals(arrival, true)
		if fmt.Sprint(want) != fmt.Sprint(got) {
			t.Fatalf("in order of time: %v\nin order of arrival: %v", want, got)
		}
	})
}
