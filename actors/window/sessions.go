package window

import (
	"fmt"
	"iter"
)

// Sessions are bursts of events of one key: each event claims [at, at+Gap), and claims
// that meet are one session.
//
// Kafka Streams counts a distance of exactly the gap as one session and closes it only
// when time is strictly past that: this is Gap+1 with Separate.
type Sessions struct {
	Gap      int64 // ms, > 0
	Touching Touching
}

// Touching says what becomes of two sessions of which one ends where the other begins.
type Touching uint8

const (
	Separate Touching = iota // two sessions (Beam)
	Merged                   // one session (Flink); which of the two it is then depends on whether the first was already closed
)

// Spans yields the claim of one event at that instant, before any merging.
func (s Sessions) Spans(at int64) iter.Seq[Span] {
	return func(yield func(Span) bool) { yield(Span{at, after(at, s.Gap)}) }
}

// Meet reports whether a and b are one session.
func (s Sessions) Meet(a, b Span) bool {
	if s.Touching == Merged {
		return a.Start <= b.End && b.Start <= a.End
	}
	return a.Start < b.End && b.Start < a.End
}

// Check tells what makes the windows impossible.
func (s Sessions) Check() error {
	if s.Gap <= 0 {
		return fmt.Errorf("session window: want gap > 0, have %d ms", s.Gap)
	}
	return nil
}
