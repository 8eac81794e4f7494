package checkpoint

import "fmt"

// Restore derives the manifest that takes every partition back to what old, an earlier
// manifest of the same chain, says of it: same chain, next number, lineage + 1, epoch + 1.
// The entries keep their Made and their pending outboxes. Every owner is revoked and none
// is named: the next assignment starts them anew.
//
// The put that follows proves that old was still retained, because what is retained is a
// function of the tip. What was published after old stays public: recomputed results that
// are equal are suppressed by id, others go out as the next version. The caller takes the
// lake back in the same operation.
func Restore(tip, old Manifest, lim Limits, by Stamp) (Manifest, error) {
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
	for p := range next.Entries {
		e := old.Entries[p]
		e.Epoch, e.Incarnation, e.Owner = tip.Entries[p].Epoch+1, 0, ""
		next.Entries[p] = e
	}
	return next, nil
}
