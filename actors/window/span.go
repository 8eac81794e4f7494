package window

import (
	"fmt"
	"math"
)

// Span is the half-open interval [Start, End) of event time, in milliseconds.
type Span struct {
	Start int64 `json:"start"`
	End   int64 `json:"end"`
}

func (s Span) Contains(at int64) bool { return s.Start <= at && at < s.End }

func (s Span) String() string { return fmt.Sprintf("[%d,%d)", s.Start, s.End) }

// after is at+d, d >= 0, that stays at the end of time.
func after(at, d int64) int64 {
	if at > math.MaxInt64-d {
		return math.MaxInt64
	}
	return at + d
}

// before is at-d, d >= 0, that stays at the beginning of time.
func before(at, d int64) int64 {
	if at < math.MinInt64+d {
		return math.MinInt64
	}
	return at - d
}
