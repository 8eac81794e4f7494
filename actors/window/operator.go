package window

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
)

// Assigner gives the spans of an instant: Tumbling, Hopping or Sessions.
type Assigner interface {
	Spans(at int64) iter.Seq[Span]
	Check() error
}

// merging is an Assigner whose spans grow together.
type merging interface {
	Meet(a, b Span) bool
}

// Time says what moves an operator's watermark.
type Time uint8

const (
	// Driven: only Advance does.
	Driven Time = iota
	// Stream: each event also moves it to its own instant, before it is classified.
	Stream
)

// Emit says when a window's result is given.
type Emit uint8

const (
	// OnWatermark: as soon as the window is complete, and again at each late event.
	OnWatermark Emit = iota
	// OnClose: once, when nothing more is accepted for it.
	OnClose
)

// Panes says what a repeated result holds.
type Panes uint8

const (
	Accumulating Panes = iota // the whole window so far: the newest result replaces the others
	Discarding                // what came since the last result: the results add up
)

// Config fixes what an Operator computes. V is an event's value, A what a window gathers;
// the zero A is the empty window.
type Config[V, A any] struct {
	Assign   Assigner
	Lateness int64 // allowed lateness, ms, >= 0
	Time     Time
	Emit     Emit
	Panes    Panes
	Add      func(A, V) A // must not change what its A refers to: snapshots share it
	Merge    func(earlier, later A) A
}

// Result is what a window gathered, at one of its firings.
type Result[K, A any] struct {
	Key     K
	Span    Span
	Value   A
	Version int   // 1 at the first firing of the window, then 2, 3, ...
	Class   Class // of what caused it: OnTime for the watermark, Late for a late event
}

// Outcome is what became of one event.
type Outcome[K, A any] struct {
	Class   Class          // the best over its windows; Beyond = in none, the caller must account for it
	Dropped []Span         // those of its windows that were closed for it
	Results []Result[K, A] // fired by it
}

// Operator gathers events by key and window and gives each window's result when it is due.
// Two equal events count twice: whoever wants otherwise removes duplicates before.
//
// With Sessions and OnWatermark a session may fire, then grow within the allowed lateness;
// its next result has another span and replaces those that it covers.
//
// Invariant: no open window is closed at the watermark, and the open windows of a key are
// ordered by span; with Sessions no two of them meet.
type Operator[K cmp.Ordered, V, A any] struct {
	cfg       Config[V, A]
	merges    merging // nil unless the spans grow together
	watermark int64   // never goes back
	open      map[K][]Open[A]
	due       int64 // nothing fires or closes before
}

// Open is one window that still accepts events.
type Open[A any] struct {
	Span    Span `json:"span"`
	Value   A    `json:"value"`
	Version int  `json:"version"` // firings so far
	Waiting bool `json:"waiting"` // for the watermark to complete it
}

// New gives an empty operator whose watermark is before everything.
func New[K cmp.Ordered, V, A any](cfg Config[V, A]) (*Operator[K, V, A], error) {
	if cfg.Assign == nil || cfg.Add == nil {
		return nil, errors.New("window operator: Assign and Add are needed")
	}
	if err := cfg.Assign.Check(); err != nil {
		return nil, err
	}
	if cfg.Lateness < 0 {
		return nil, fmt.Errorf("window operator: want allowed lateness >= 0, have %d ms", cfg.Lateness)
	}
	m, _ := cfg.Assign.(merging)
	if m != nil && cfg.Merge == nil {
		return nil, errors.New("window operator: sessions need Merge")
	}
	return &Operator[K, V, A]{cfg: cfg, merges: m, watermark: math.MinInt64, open: map[K][]Open[A]{}, due: math.MaxInt64}, nil
}

// Watermark is how far time has come.
func (o *Operator[K, V, A]) Watermark() int64 { return o.watermark }

// Event takes one event into each of its windows that is not closed.
func (o *Operator[K, V, A]) Event(key K, at int64, v V) Outcome[K, A] {
	out := Outcome[K, A]{Class: Beyond}
	if o.cfg.Time == Stream {
		out.Results = o.Advance(at)
	}
	for span := range o.cfg.Assign.Spans(at) {
		w := o.take(key, span)
		class := Classify(w.Span, o.watermark, o.cfg.Lateness)
		if class == Beyond {
			out.Dropped = append(out.Dropped, w.Span)
			continue
		}
		out.Class = min(out.Class, class)
		w.Value = o.cfg.Add(w.Value, v)
		w.Waiting = class == OnTime
		if class == Late && o.cfg.Emit == OnWatermark {
			out.Results = append(out.Results, o.fire(key, &w, Late))
		}
		o.put(key, w)
	}
	return out
}

// take lifts the window of span out of the open ones: an empty one if there is none, and
// for sessions all that meet span as one. What it lifts is open, so never Beyond.
func (o *Operator[K, V, A]) take(key K, span Span) Open[A] {
	w := Open[A]{Span: span}
	windows, ok := o.open[key]
	if !ok {
		return w
	}
	o.open[key] = slices.DeleteFunc(windows, func(have Open[A]) bool {
		switch {
		case o.merges == nil && have.Span == span:
			w = have
		case o.merges != nil && o.merges.Meet(have.Span, span):
			// Disjoint neighbours arrive in order; what they have in common is span.
			w.Span = Span{min(w.Span.Start, have.Span.Start), max(w.Span.End, have.Span.End)}
			w.Value = o.cfg.Merge(w.Value, have.Value)
			w.Version = max(w.Version, have.Version)
		default:
			return false
		}
		return true
	})
	return w
}

func (o *Operator[K, V, A]) put(key K, w Open[A]) {
	i, _ := slices.BinarySearchFunc(o.open[key], w, func(a, b Open[A]) int { return compareSpans(a.Span, b.Span) })
	o.open[key] = slices.Insert(o.open[key], i, w)
	o.due = min(o.due, o.deadline(w))
}

// deadline is the watermark at which something happens to w.
func (o *Operator[K, V, A]) deadline(w Open[A]) int64 {
	if w.Waiting && o.cfg.Emit == OnWatermark {
		return w.Span.End
	}
	return after(w.Span.End, o.cfg.Lateness)
}

func (o *Operator[K, V, A]) fire(key K, w *Open[A], class Class) Result[K, A] {
	w.Version++
	r := Result[K, A]{key, w.Span, w.Value, w.Version, class}
	if o.cfg.Panes == Discarding {
		var empty A
		w.Value = empty
	}
	return r
}

// Advance moves the watermark and gives the results that fell due, ordered by window,
// then key. An earlier watermark than the present one changes nothing.
//
// A jump over many windows loses none of them: what is due fires before it closes.
func (o *Operator[K, V, A]) Advance(watermark int64) []Result[K, A] {
	o.watermark = max(o.watermark, watermark)
	if o.watermark < o.due {
		return nil
	}
	var due []Result[K, A]
	o.due = math.MaxInt64
	for key, windows := range o.open {
		kept := windows[:0]
		for _, w := range windows {
			class := Classify(w.Span, o.watermark, o.cfg.Lateness)
			onWatermark := o.cfg.Emit == OnWatermark && w.Waiting && class != OnTime
			onClose := o.cfg.Emit == OnClose && class == Beyond
			if onWatermark || onClose {
				due = append(due, o.fire(key, &w, OnTime))
			}
			if class != OnTime {
				w.Waiting = false
			}
			if class != Beyond {
				kept = append(kept, w)
				o.due = min(o.due, o.deadline(w))
			}
		}
		clear(windows[len(kept):])
		if o.open[key] = kept; len(kept) == 0 {
			delete(o.open, key)
		}
	}
	slices.SortFunc(due, func(a, b Result[K, A]) int {
		return cmp.Or(compareSpans(a.Span, b.Span), cmp.Compare(a.Key, b.Key))
	})
	return due
}

func compareSpans(a, b Span) int {
	return cmp.Or(cmp.Compare(a.End, b.End), cmp.Compare(a.Start, b.Start))
}
