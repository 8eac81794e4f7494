package window

import (
	"fmt"
	"iter"
	"math"
)

// Hopping is spans of Size, one beginning every Advance, counted from the epoch: each
// instant lies in Size/Advance of them, rounded up or down.
type Hopping struct {
	Size    int64 // ms, > 0
	Advance int64 // ms, 0 < Advance <= Size
	Starts  Starts
}

// Starts says where the first hopping span may begin.
type Starts uint8

const (
	StartAnywhere  Starts = iota // also before the epoch (Flink, Beam)
	StartFromEpoch               // never before the epoch (Kafka Streams)
)

// Spans yields the spans that hold at, earliest first.
func (h Hopping) Spans(at int64) iter.Seq[Span] {
	last := Tumbling{Size: h.Advance}.Of(at).Start // the latest span's start
	// Spans that hold at start in (at-Size, at]; count those before the latest.
	back := (h.Size - 1 - (at - last)) / h.Advance
	return func(yield func(Span) bool) {
		for i := back; i >= 0; i-- {
			start := before(last, i*h.Advance)
			if h.Starts == StartFromEpoch && start < 0 {
				continue
			}
			if start == math.MinInt64 && i > 0 {
				continue // would begin before time does
			}
			if !yield(Span{start, after(start, h.Size)}) {
				return
			}
		}
	}
}

// Check tells what makes the windows impossible.
func (h Hopping) Check() error {
	if h.Size <= 0 || h.Advance <= 0 || h.Advance > h.Size {
		return fmt.Errorf("hopping window: want 0 < advance <= size, have size %d ms, advance %d ms", h.Size, h.Advance)
	}
	return nil
}
