package window

import (
	"math"
	"slices"
	"testing"
)

const (
	first = math.MinInt64
	last  = math.MaxInt64
)

func TestTumblingHoldsAnyInstant(t *testing.T) {
	for _, c := range []struct {
		size, offset, at int64
		want             Span
	}{
		{300_000, 0, 0, Span{0, 300_000}},
		{300_000, 0, 299_999, Span{0, 300_000}},
		{300_000, 0, 300_000, Span{300_000, 600_000}},
		{300_000, 0, -1, Span{-300_000, 0}},
		{300_000, 0, -300_000, Span{-300_000, 0}},
		{300_000, 0, -300_001, Span{-600_000, -300_000}},
		{10, 3, 2, Span{-7, 3}},
		{10, 3, 3, Span{3, 13}},
		{10, 3, -7, Span{-7, 3}},
		{10, 3, -8, Span{-17, -7}},
		{10, 0, last, Span{last - 7, last}},    // cut off
		{10, 0, first, Span{first, first + 8}}, // cut off
		{last, 0, last - 1, Span{0, last}},
		{last, last - 1, -1, Span{-1, last - 1}},
		{last, last - 1, -2, Span{first, -1}},
	} {
		if got := (Tumbling{c.size, c.offset}).Of(c.at); got != c.want {
			t.Errorf("size %d offset %d: %d lies in %v, want %v", c.size, c.offset, c.at, got, c.want)
		}
	}
}

func TestHoppingYieldsEverySpanThatHoldsAnInstant(t *testing.T) {
	for _, c := range []struct {
		h    Hopping
		at   int64
		want []Span
	}{
		{Hopping{Size: 10, Advance: 5}, 12, []Span{{5, 15}, {10, 20}}},
		{Hopping{Size: 10, Advance: 5}, 10, []Span{{5, 15}, {10, 20}}},
		{Hopping{Size: 10, Advance: 5}, 0, []Span{{-5, 5}, {0, 10}}},
		{Hopping{Size: 10, Advance: 5, Starts: StartFromEpoch}, 4, []Span{{0, 10}}},
		{Hopping{Size: 10, Advance: 5, Starts: StartFromEpoch}, -4, nil},
		{Hopping{Size: 10, Advance: 4}, 10, []Span{{4, 14}, {8, 18}}},
		{Hopping{Size: 10, Advance: 4}, 9, []Span{{0, 10}, {4, 14}, {8, 18}}},
		{Hopping{Size: 10, Advance: 10}, -1, []Span{{-10, 0}}},
		{Hopping{Size: 10, Advance: 5}, first + 1, []Span{{first, first + 10}}},
	} {
		spans := c.h.Spans(c.at)
		if got := slices.Collect(spans); !slices.Equal(got, c.want) {
			t.Errorf("%+v: %d lies in %v, want %v", c.h, c.at, got, c.want)
		}
		if again := slices.Collect(spans); !slices.Equal(again, c.want) {
			t.Errorf("%+v: %d lies in %v when asked again, want %v", c.h, c.at, again, c.want)
		}
	}
}

func TestSessionsThatTouch(t *testing.T) {
	a, b, c := Span{0, 10}, Span{10, 20}, Span{9, 11}
	for _, x := range []struct {
		touching Touching
		a, b     Span
		want     bool
	}{
		{Separate, a, b, false}, {Merged, a, b, true}, {Separate, a, c, true}, {Merged, a, c, true},
		{Merged, a, Span{11, 12}, false},
	} {
		s := Sessions{Gap: 10, Touching: x.touching}
		if s.Meet(x.a, x.b) != x.want || s.Meet(x.b, x.a) != x.want {
			t.Errorf("touching %d: %v and %v meet: want %v both ways", x.touching, x.a, x.b, x.want)
		}
	}
}

// The product's own boundaries: five minutes, allowed lateness of two.
func TestClassifyAtItsBoundaries(t *testing.T) {
	s, e, l := int64(0), int64(300_000), int64(120_000)
	for _, c := range []struct {
		span      Span
		watermark int64
		allowed   int64
		want      Class
	}{
		{Span{s, e}, first, l, OnTime}, {Span{s, e}, e - 1, l, OnTime},
		{Span{s, e}, e, l, Late}, {Span{s, e}, e + l - 1, l, Late},
		{Span{s, e}, e + l, l, Beyond}, {Span{s, e}, last, l, Beyond},
		{Span{s, e}, e, 0, Beyond},
		{Span{s, e}, last - 1, Unbounded, Late},
		{Span{last - 10, last}, last - 1, l, OnTime}, {Span{last - 10, last}, last, l, Beyond},
		{Span{first, first + 1}, first, l, OnTime}, {Span{first, first + 1}, first + 1, l, Late},
	} {
		if got := Classify(c.span, c.watermark, c.allowed); got != c.want {
			t.Errorf("%v at watermark %d, allowed %d: %v, want %v", c.span, c.watermark, c.allowed, got, c.want)
		}
	}
}

func TestImpossibleConfigurationsAreRefused(t *testing.T) {
	add := func(a, v int) int { return a + v }
	for name, cfg := range map[string]Config[int, int]{
		"no assigner":        {Add: add},
		"no add":             {Assign: Tumbling{Size: 1}},
		"size 0":             {Assign: Tumbling{}, Add: add},
		"offset past size":   {Assign: Tumbling{Size: 5, Offset: 5}, Add: add},
		"advance past size":  {Assign: Hopping{Size: 5, Advance: 6}, Add: add},
		"gap 0":              {Assign: Sessions{}, Add: add, Merge: add},
		"sessions, no merge": {Assign: Sessions{Gap: 5}, Add: add},
		"negative lateness":  {Assign: Tumbling{Size: 5}, Add: add, Lateness: -1},
	} {
		if _, err := New[string](cfg); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

// What the trip does per event must not reach the heap.
func TestHotPathDoesNotAllocate(t *testing.T) {
	five, at, late := Tumbling{Size: 300_000}, int64(1_700_000_000_123), 0
	if n := testing.AllocsPerRun(100, func() {
		if Classify(five.Of(at), at+400_000, 120_000) != OnTime {
			late++
		}
		at += 7_001
	}); n != 0 {
		t.Fatalf("%v allocations per event", n)
	}
	if late == 0 {
		t.Fatal("nothing was late")
	}
}

func BenchmarkOfAndClassify(b *testing.B) {
	five, at, late := Tumbling{Size: 300_000}, int64(1_700_000_000_123), 0
	for b.Loop() {
		if Classify(five.Of(at), at, 120_000) != OnTime {
			late++
		}
		at += 7_001
	}
	_ = late
}
