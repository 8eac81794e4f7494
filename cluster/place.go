package cluster

import (
	"cmp"
	"hash/fnv"
	"math"
	"slices"

	"taximeter/checkpoint"
	"taximeter/schemas"
)

// Place says who should run each partition, given who runs it now (index = partition, "" =
// nobody, len = number of partitions): rendezvous hashing with bounded load, sticky.
//
//   - Each serving member runs its share by weight, rounded down or up.
//   - What can stay stays. With equal weights, from a balanced state: a member that joins n
//     others gets at most ceil(partitions/(n+1)) and nothing else moves; of one that leaves or
//     drains only its own move. With unequal weights shares round differently, and up to one
//     more partition per member may move.
//   - An Absent member keeps what it has; only what the others run is shared out.
//   - If nobody can take anything, everything stays.
func Place(members []Member, now []checkpoint.NodeID) []checkpoint.NodeID {
	b := newBoard(members, now)
	if len(b.takers) == 0 {
		return slices.Clone(now)
	}
	b.keep()
	b.home()
	b.level()
	next := slices.Clone(now)
	for p, i := range b.at {
		if i >= 0 {
			next[p] = b.takers[i].ID
		}
	}
	return next
}

// board is a placement being made.
//
// Invariants: held[i] = number of p with at[p] == i; low[i] <= share of i <= high[i]; the
// lows sum up to at most the partitions shared out, the highs to at least those.
type board struct {
	takers         []Member // sorted by id: the result must not depend on the order given
	now            []checkpoint.NodeID
	at             []int // taker of each partition; free or pinned
	held           []int
	low, high      []int
	shared, weight int // partitions shared out; sum of the takers' weights
}

const (
	free   = -1
	pinned = -2 // with an absent member
)

func newBoard(members []Member, now []checkpoint.NodeID) *board {
	b := &board{now: now, at: make([]int, len(now))}
	absent := make(map[checkpoint.NodeID]bool)
	for _, m := range members {
		if m.takes() {
			b.takers = append(b.takers, m)
			b.weight += m.Weight
		}
		if m.Duty == Absent {
			absent[m.ID] = true
		}
	}
	slices.SortFunc(b.takers, byID)
	for p, owner := range now {
		b.at[p] = free
		if absent[owner] {
			b.at[p] = pinned
		} else {
			b.shared++
		}
	}
	b.held = make([]int, len(b.takers))
	for _, m := range b.takers {
		b.low = append(b.low, b.shared*m.Weight/b.weight)
		b.high = append(b.high, (b.shared*m.Weight+b.weight-1)/b.weight)
	}
	return b
}

func byID(a, b Member) int { return cmp.Compare(a.ID, b.ID) }

func (b *board) put(p, taker int) {
	if b.at[p] >= 0 {
		b.held[b.at[p]]--
	}
	b.at[p] = taker
	b.held[taker]++
}

// keep leaves with each taker what it runs, as far as its load allows: the partitions that
// rank it highest first.
func (b *board) keep() {
	for i, m := range b.takers {
		var own []int
		for p, owner := range b.now {
			if owner == m.ID {
				own = append(own, p)
			}
		}
		slices.SortStableFunc(own, func(x, y int) int { return cmp.Compare(score(y, m), score(x, m)) })
		for _, p := range own[:min(len(own), b.high[i])] {
			b.put(p, i)
		}
	}
}

// home gives each free partition to the taker it ranks highest, of those below their share
// while there are any.
func (b *board) home() {
	for p, i := range b.at {
		if i != free {
			continue
		}
		if i = b.best(p, b.low); i < 0 {
			i = b.best(p, b.high) // the highs sum up to all, so one has room
		}
		b.put(p, i)
	}
}

func (b *board) best(p int, limit []int) int {
	best, top := -1, 0.0
	for i, m := range b.takers {
		if b.held[i] < limit[i] {
			if s := score(p, m); best < 0 || s > top {
				best, top = i, s
			}
		}
	}
	return best
}

// level fills up who is still below its share, from who is furthest above its own.
func (b *board) level() {
	for i, m := range b.takers {
		for b.held[i] < b.low[i] {
			from, most := -1, 0
			for j := range b.takers {
				// held - share, times weight to stay in integers.
				excess := b.held[j]*b.weight - b.shared*b.takers[j].Weight
				if b.held[j] > b.low[j] && (from < 0 || excess > most) {
					from, most = j, excess
				}
			}
			move, top := -1, 0.0
			for p, at := range b.at {
				if at == from {
					if s := score(p, m); move < 0 || s > top {
						move, top = p, s
					}
				}
			}
			b.put(move, i)
		}
	}
}

// score ranks members for a partition, higher first: weighted rendezvous hashing. A member's
// score depends on itself alone, so no other's coming or going changes the order of the
// rest.
func score(p int, m Member) float64 {
	h := fnv.New64a()
	h.Write([]byte(m.ID))
	// The finalizer of splitmix64 spreads what FNV leaves alike in ids like node-1, node-2.
	x := h.Sum64() + uint64(p+1)*0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	x ^= x >> 31
	u := (float64(x>>11) + 0.5) / (1 << 53) // in (0, 1)
	return -float64(m.Weight) / math.Log(u)
}

// Standbys says who should keep each partition warm, copies of them each, in the order in
// which they take over: the next takers in rendezvous order, other zones than the owner's
// and than those before first. It depends on members and owners alone: any node can say who
// is warm without asking.
func Standbys(members []Member, owners []checkpoint.NodeID, copies int) [][]checkpoint.NodeID {
	all := make([][]checkpoint.NodeID, len(owners))
	for p, owner := range owners {
		if owner != "" {
			all[p] = standbys(members, p, owner, copies)
		}
	}
	return all
}

func standbys(members []Member, p int, owner checkpoint.NodeID, copies int) []checkpoint.NodeID {
	var order []Member
	zones := make(map[string]bool)
	for _, m := range members {
		if m.ID == owner {
			zones[m.Zone] = true
		} else if m.takes() {
			order = append(order, m)
		}
	}
	slices.SortFunc(order, byID)
	slices.SortStableFunc(order, func(a, b Member) int { return cmp.Compare(score(p, b), score(p, a)) })
	var chosen []checkpoint.NodeID
	for len(chosen) < copies && len(order) > 0 {
		i := slices.IndexFunc(order, func(m Member) bool { return m.Zone != "" && !zones[m.Zone] })
		i = max(i, 0)
		chosen = append(chosen, order[i].ID)
		zones[order[i].Zone] = true
		order = slices.Delete(order, i, i+1)
	}
	return chosen
}

// Successors says who runs what when dead is taken over: its partitions go to their first
// standby, which is warm, however uneven that is; Place and Plan then level it with planned
// moves. Without standbys they go where Place wants them. Nothing else moves. members holds
// the dead member too, for its zone.
func Successors(members []Member, owners []checkpoint.NodeID, dead checkpoint.NodeID, copies int) []checkpoint.NodeID {
	living := slices.DeleteFunc(slices.Clone(members), func(m Member) bool { return m.ID == dead })
	next := slices.Clone(owners)
	var orphans []schemas.Partition
	for p, owner := range owners {
		if owner != dead {
			continue
		}
		if warm := standbys(members, p, dead, min(copies, 1)); len(warm) > 0 {
			next[p] = warm[0]
		} else {
			next[p] = ""
			orphans = append(orphans, schemas.Partition(p))
		}
	}
	placed := Place(living, next)
	for _, p := range orphans {
		next[p] = placed[p]
	}
	return next
}
