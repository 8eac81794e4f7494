package window

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// Snapshot is all that an Operator knows beside its Config, as plain values that any
// encoder of exported fields can write. Equal operators give equal snapshots.
type Snapshot[K, A any] struct {
	Watermark int64         `json:"watermark"`
	Keys      []Keyed[K, A] `json:"keys"` // ascending
}

// Keyed is one key's open windows, ordered by span.
type Keyed[K, A any] struct {
	Key  K         `json:"key"`
	Open []Open[A] `json:"open"`
}

// Snapshot gives the operator's present state; later events do not change it.
func (o *Operator[K, V, A]) Snapshot() Snapshot[K, A] {
	s := Snapshot[K, A]{Watermark: o.watermark}
	for _, key := range slices.Sorted(maps.Keys(o.open)) {
		s.Keys = append(s.Keys, Keyed[K, A]{key, slices.Clone(o.open[key])})
	}
	return s
}

// Restore gives the operator that s was taken of. cfg must be the one it had.
func Restore[K cmp.Ordered, V, A any](cfg Config[V, A], s Snapshot[K, A]) (*Operator[K, V, A], error) {
	o, err := New[K](cfg)
	if err != nil {
		return nil, err
	}
	o.watermark = s.Watermark
	for _, k := range s.Keys {
		for _, w := range k.Open {
			if Classify(w.Span, s.Watermark, cfg.Lateness) == Beyond {
				return nil, fmt.Errorf("restore window %v of key %v: closed at watermark %d with lateness %d ms, so the snapshot is of another configuration", w.Span, k.Key, s.Watermark, cfg.Lateness)
			}
			o.put(k.Key, w)
		}
	}
	return o, nil
}
