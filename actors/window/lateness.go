package window

import "math"

// Class is how late an event is for one of its windows.
type Class uint8

const (
	OnTime Class = iota // the window is not complete yet
	Late                // the window was complete, within the allowed lateness
	Beyond              // later than that
)

var classNames = [...]string{"on time", "late", "beyond"}

func (c Class) String() string { return classNames[c] }

// Unbounded is an allowed lateness that ends only with time itself.
const Unbounded int64 = math.MaxInt64

// Classify compares the watermark before an event with the window it belongs to:
// on time while watermark < End, late while End <= watermark < End+allowed, else beyond.
// End+allowed saturates, so at the end of time everything is beyond. allowed >= 0.
func Classify(span Span, watermark, allowed int64) Class {
	switch {
	case watermark < span.End:
		return OnTime
	case watermark < after(span.End, allowed):
		return Late
	}
	return Beyond
}
