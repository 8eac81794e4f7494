package checkpoint

import (
	"fmt"
	"slices"

	"taximeter/schemas"
)

// Abandoned is what a restore leaves behind: results of the manifests in Spans may be
// public, and the runs after the restore compute them again. Until a run has come to where
// the line stood, it keeps to itself what equals or contradicts a public result; then what
// still differs goes out as the next version.
type Abandoned struct {
	Spans []Span         `json:"spans"`
	Since schemas.Millis `json:"since"` // when the restored manifest was made, by its writer's clock
	// Next and Watermark are where the line stood.
	Next      Offsets        `json:"next"`
	Watermark schemas.Millis `json:"watermark"`
}

// Span is the manifests (After, Through].
type Span struct {
	After   Number `json:"after"`
	Through Number `json:"through"`
}

// Holds reports whether an outbox made by manifest n was of an abandoned line.
func (a *Abandoned) Holds(n Number) bool {
	return a != nil && slices.ContainsFunc(a.Spans, func(s Span) bool { return s.After < n && n <= s.Through })
}

// Restore derives the manifest that takes every partition back to what old, an earlier
// manifest of the same chain, says of it: same chain, next number, lineage + 1, epoch + 1.
// Every owner is revoked and none is named: the next assignment starts them anew.
//
// The put that follows proves that old was still retained, because what is retained is a
// function of the tip. What was committed after old is or becomes public: the tip's pending
// outboxes are the restored entries' too, so that a marker means for ever that all before it
// is public, whichever line made it. Abandoned tells the next run where to find it. The
// caller takes the lake back in the same operation.
//
// lost are the keys of pending outboxes that cannot be read: they are given up, and what
// they held is computed again.
func Restore(tip, old Manifest, lim Limits, by Stamp, lost ...string) (Manifest, error) {
	refuse := func(format string, args ...any) (Manifest, error) {
		return Manifest{}, fmt.Errorf("restore manifest %d after %d: %s", old.Number, tip.Number, fmt.Sprintf(format, args...))
	}
	switch {
	case old.Namespace != tip.Namespace:
		return refuse("it belongs to namespace %s, not %s", old.Namespace, tip.Namespace)
	case old.Number > tip.Number:
		return refuse("it is later than the tip")
	case old.Number < tip.Oldest:
		return refuse("it is no longer retained; the oldest that is has number %d", tip.Oldest)
	case len(old.Entries) != len(tip.Entries):
		return refuse("it has %d partitions, not %d", len(old.Entries), len(tip.Entries))
	case old.TopicIDs != tip.TopicIDs:
		return refuse("a topic was created anew since (ids %v, now %v), so its offsets mean nothing", old.TopicIDs, tip.TopicIDs)
	}
	next := after(tip, CauseRestore, lim, by)
	next.Lineage = tip.Lineage + 1
	next.Restores = append(slices.Clone(tip.Restores), Span{After: old.Number, Through: tip.Number})
	for p := range next.Entries {
		e := old.Entries[p]
		e.Epoch, e.Incarnation, e.Owner = tip.Entries[p].Epoch+1, 0, ""
		e.Abandoned = e.Abandoned.with(old, tip, tip.Entries[p])
		e.Pending = slices.DeleteFunc(slices.Clone(tip.Entries[p].Pending), func(o OutboxRef) bool { return slices.Contains(lost, o.File.Key) })
		next.Entries[p] = e
	}
	return next, nil
}

// with is a, what the restored entry itself had still to reach, and the line from old to
// tip, which ends in entry end.
func (a *Abandoned) with(old, tip Manifest, end Entry) *Abandoned {
	if old.Number == tip.Number {
		return a
	}
	all := Abandoned{Since: old.CreatedAt, Next: end.Next, Watermark: end.Watermark}
	if end.Made > old.Number { // its results reach to the cut, though an operator moved back where it goes on
		for t, stands := range end.Stands() {
			all.Next[t] = max(all.Next[t], stands)
		}
	}
	for _, other := range []*Abandoned{a, end.Abandoned} { // the line may not have come to where another stood
		if other == nil {
			continue
		}
		for t := range all.Next {
			all.Next[t] = max(all.Next[t], other.Next[t])
		}
		all.Watermark = max(all.Watermark, other.Watermark)
	}
	if a != nil {
		all.Spans = slices.Clone(a.Spans)
		all.Since = min(all.Since, a.Since)
	}
	all.Spans = append(all.Spans, Span{After: old.Number, Through: tip.Number})
	return &all
}
