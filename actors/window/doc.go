// Package window is the algebra of event-time windows: half-open spans, the three ways
// to assign an instant to them (tumbling, hopping, gap sessions), how late an event is
// for its window, and a keyed operator that puts the three together.
//
// All instants are int64 milliseconds; math.MaxInt64 is "after everything". A watermark
// W promises that events before W are not expected any more, so a window [s,e) is
// complete when W >= e. (Flink's watermark w means "up to and including w": it is W-1.)
//
// It must never hold a clock, log or do I/O: time comes in as arguments. It knows
// nothing of trips either; it imports none of the other packages.
//
// Start reading at span.go, then lateness.go, then operator.go.
package window
