package cluster

import (
	"slices"
	"time"

	"taximeter/checkpoint"
)

// Watch remembers what an observer has seen of the heartbeat objects. All instants are
// readings of one monotonic clock, its own; the other nodes' clocks play no part.
type Watch struct {
	patience time.Duration
	gap      time.Duration
	own      run // of puts of its own heartbeat that succeeded
	others   map[checkpoint.NodeID]sighting
	arrivals map[checkpoint.NodeID]arrival
}

// arrival is what is known of how a member came, or came back to its duty.
type arrival struct {
	since    time.Duration // when the chain was first seen to name it, or it served again
	heard    bool          // it was in view since the chain names it
	strange  bool          // neither heard nor named for long
	resigned bool          // when last in view
}

// hearsay is how much later than from the chain we may hear of a new member by gossip: one
// that restarted must first refute its own farewell.
const hearsay = 3 * time.Second

// run is an unbroken row of observations.
type run struct {
	since, last time.Duration
	begun       bool
}

// extend adds an observation; one that comes later than gap after the last begins anew: in
// between the observer slept, and knows nothing of that time.
func (r *run) extend(at, gap time.Duration) {
	if !r.begun || at-r.last > gap {
		r.since, r.begun = at, true
	}
	r.last = at
}

type sighting struct {
	mark string
	same run // reads that all found mark
}

// NewWatch makes an empty one. Patience is how long a heartbeat must stand still; gap is the
// longest pause between two of our own puts, or two reads, that still counts as watching:
// several heartbeat intervals, and well below patience.
func NewWatch(patience, gap time.Duration) *Watch {
	return &Watch{patience: patience, gap: gap, others: make(map[checkpoint.NodeID]sighting), arrivals: make(map[checkpoint.NodeID]arrival)}
}

// Put notes that our own heartbeat was put.
func (w *Watch) Put(at time.Duration) { w.own.extend(at, w.gap) }

// PutFailed notes that it could not be, or that we have resigned: whoever cannot write cannot
// tell the silence of others from its own, and what we have lost others may have lost, whose
// hearts then stand still while they live. The row begins anew.
func (w *Watch) PutFailed() { w.own = run{} }

// Saw notes what a node's heartbeat object held; "" = there is none.
func (w *Watch) Saw(id checkpoint.NodeID, mark string, at time.Duration) {
	s := w.others[id]
	if s.mark != mark {
		s = sighting{mark: mark}
	}
	s.same.extend(at, w.gap)
	w.others[id] = s
}

// Look notes whom the chain names and who is in view.
func (w *Watch) Look(tip checkpoint.Manifest, v View, at time.Duration) {
	alive := v.Alive()
	for _, id := range tip.Members {
		a, known := w.arrivals[id]
		m, inView := v.Member(id)
		if resigned := m.Duty == Resigned; inView {
			if a.resigned && !resigned {
				a.since = at
			}
			a.resigned = resigned
		}
		if !known {
			a.since = at
		}
		a.heard = a.heard || slices.Contains(alive, id)
		a.strange = !a.heard && at-a.since < hearsay
		w.arrivals[id] = a
	}
	for id := range w.arrivals {
		if !tip.IsMember(id) {
			delete(w.arrivals, id)
		}
	}
}

// Forget drops what is known of nodes that are no members any more.
func (w *Watch) Forget(members []checkpoint.NodeID) {
	for id := range w.others {
		if !slices.Contains(members, id) {
			delete(w.others, id)
		}
	}
}

// Ended drops what is known of nodes whose membership we have just ended: before the next look
// at the chain one of them may have joined again.
func (w *Watch) Ended(ended []checkpoint.NodeID) {
	for _, id := range ended {
		delete(w.others, id)
		delete(w.arrivals, id)
	}
}

// unchanged is how long the node's heartbeat stood still, as far as we know it a member that
// has not resigned since, while our own puts succeeded: the time that both rows of observations
// cover. What one that has just joined left there before says nothing of it: taken over for
// that, it would join again at once, and so on. Nor does what one left there that had resigned
// and serves again.
func (w *Watch) unchanged(id checkpoint.NodeID) time.Duration {
	s, ok := w.others[id]
	if !ok || !w.own.begun {
		return 0
	}
	return max(0, min(w.own.last, s.same.last)-max(w.own.since, s.same.since, w.arrivals[id].since))
}

// Evidence is what the observer can say against a node.
func (w *Watch) Evidence(id checkpoint.NodeID, v View) checkpoint.Evidence {
	return checkpoint.Evidence{Alive: v.Alive(), Unchanged: w.unchanged(id), Patience: w.patience}
}

// TakeOvers lists the members of the tip that may be taken over now, with the evidence. A
// view with the majority of the tip's members suffices against a node out of view, unless it
// has only just joined and gossip has not brought word of it yet; else,
// and against one that gossip still calls alive, its heartbeat must have stood still.
func TakeOvers(tip checkpoint.Manifest, v View, w *Watch) []checkpoint.TakeOver {
	if !v.Joined || !tip.IsMember(v.Self) {
		return nil
	}
	if self, ok := v.Member(v.Self); ok && self.Duty == Resigned {
		return nil
	}
	alive, majority := v.Alive(), v.Majority(tip)
	var all []checkpoint.TakeOver
	for _, id := range tip.Members {
		if id == v.Self {
			continue
		}
		ev := w.Evidence(id, v)
		if majority && !slices.Contains(alive, id) && !w.arrivals[id].strange || ev.Patience > 0 && ev.Unchanged >= ev.Patience {
			all = append(all, checkpoint.TakeOver{Dead: id, Observer: v.Self, Evidence: ev})
		}
	}
	return all
}

// Trouble is for how long a node has reached neither of its two needs.
type Trouble struct{ Store, Kafka time.Duration }

// Resigns reports whether a node must give up its duty: without Kafka or without the store
// it makes no progress, and others can. It returns to duty once both answer again.
func (t Trouble) Resigns(patience time.Duration) bool {
	return t.Store >= patience || t.Kafka >= patience
}
