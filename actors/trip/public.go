package trip

import (
	"maps"
	"slices"

	"taximeter/schemas"
)

// Public is what is public of a trip and its state does not know: after a restore to an
// earlier checkpoint, the results of the line of checkpoints left behind.
//
// Until the replay has come to where that line stood, the trip keeps to itself every bill
// (if one is public) and every window that is in here. What the replay says on its way is
// told by its interleaving of the topics; only what it says in the end can contradict what
// is public, and then goes out as the next version.
type Public struct {
	Bills   []schemas.Bill                    // ascending by version
	Windows map[schemas.Millis]schemas.Window // newest version by start
}

// silentOnBills reports whether bills of the trip are kept back.
func (s *State) silentOnBills(env *Env) bool {
	p := env.Public[s.id]
	return p != nil && len(p.Bills) > 0
}

// silentOn reports whether versions of the window are kept back.
func (s *State) silentOn(env *Env, start schemas.Millis) bool {
	p := env.Public[s.id]
	if p == nil {
		return false
	}
	_, is := p.Windows[start]
	return is
}

// reveal ends the silence: the trip takes what is public for its own and publishes what
// differs from it.
func (s *State) reveal(env *Env) {
	p := env.Public[s.id]
	if p == nil {
		return
	}
	delete(env.Public, s.id)
	if s.stage != detailed {
		return // it was dropped before the restored cut: nothing of it was computed again
	}
	for _, start := range slices.Sorted(maps.Keys(p.Windows)) {
		public := p.Windows[start]
		w := s.track.windowAt(start)
		w.version = int32(public.Version)
		if !sameWindow(s.window(w, public.Verdict), public) {
			s.publishWindow(env, w, schemas.Rectified)
		}
	}
	if len(p.Bills) > 0 {
		if s.billing.last == nil {
			s.billing.history = &history{revision: env.Tariffs.Revision()}
		}
		s.billing.adopt(p.Bills)
		s.settle(env)
	}
}

// adopt makes the newest public version the last one. Versions that were computed again
// and not published never were.
func (b *billing) adopt(public []schemas.Bill) {
	for i := range public {
		p := &public[i]
		v := billVersion{p.Amount, p.DistanceMM, p.DurationS, p.Motive}
		for len(b.versions) < p.Version { // the log may no longer hold one in between
			b.versions = append(b.versions, v)
		}
		b.versions[p.Version-1] = v
	}
	last := public[len(public)-1]
	b.versions = b.versions[:last.Version]
	b.last = &last
}

// sameWindow compares what two versions tell; a and b are of one trip and start.
func sameWindow(a, b schemas.Window) bool {
	return a.Points == b.Points && a.Rejected == b.Rejected && a.DistanceMM == b.DistanceMM && a.TimeMS == b.TimeMS &&
		same(a.MaxKmh, b.MaxKmh) && same(a.MeanKmh, b.MeanKmh) && same(a.First, b.First) && same(a.Last, b.Last)
}

func same[T comparable](a, b *T) bool {
	return a == b || (a != nil && b != nil && *a == *b)
}
