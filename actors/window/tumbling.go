package window

import (
	"fmt"
	"iter"
)

// Tumbling cuts time into spans of Size that follow each other without a gap and begin
// at Offset past every multiple of Size, counted from the epoch.
type Tumbling struct {
	Size   int64 // ms, > 0
	Offset int64 // ms, 0 <= Offset < Size
}

// Of is the span that holds at, for any at, also before the epoch.
//
// At the two ends of int64 the span is cut off, not wrapped. The instant
// math.MaxInt64 stands for "after everything" and lies in no span.
func (t Tumbling) Of(at int64) Span {
	into := at % t.Size // how far at lies into its span
	if into < 0 {
		into += t.Size
	}
	if into -= t.Offset; into < 0 {
		into += t.Size
	}
	return Span{before(at, into), after(at, t.Size-into)}
}

// Spans yields the one span of at.
func (t Tumbling) Spans(at int64) iter.Seq[Span] {
	return func(yield func(Span) bool) { yield(t.Of(at)) }
}

// Check tells what makes the windows impossible.
func (t Tumbling) Check() error {
	if t.Size <= 0 || t.Offset < 0 || t.Offset >= t.Size {
		return fmt.Errorf("tumbling window: want size > 0 and 0 <= offset < size, have size %d ms, offset %d ms", t.Size, t.Offset)
	}
	return nil
}
