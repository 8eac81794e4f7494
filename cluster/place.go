package cluster

import (
	"cmp"
	"hash/fnv"
	"math"
	"slices"

	"taximeter/checkpoint"
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
	takers    []Member // sorted by id: the result must not depend on the order given
	now       []checkpoint.NodeID
	at        []int // taker of each partition, or free, or pinned
	held      []int
	low, high []int
	shared    int // partitions shared out: all that are not pinned
}

const (
	free   = -1
	pinned = -2 // with an absent member
)

func newBoard(members []Member, now []checkpoint.NodeID) *board {
	b := &board{now: now, at: make([]int, len(now))}
	weight := 0
	absent := make(map[checkpoint.NodeID]bool)
	for _, m := range members {
		if m.takes() {
			b.takers = append(b.takers, m)
			weight += m.Weight
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
		b.low = append(b.low, b.shared*m.Weight/weight)
		b.high = append(b.high, (b.shared*m.Weight+weight-1)/weight)
	}
	return b
}

func byID(a, b Member) int { return cmp.Compare(a.ID, b.ID) }

// keep leaves with each taker what it runs, as far as its load allows.
//
// Of the loads that are even, this chooses the one that moves least: the higher share goes
// to those who have it already. Neither that choice nor what is kept changes while the
// moves are under way, so a coordinator may begin again halfway and aims at the same.
func (b *board) keep() {
	higher := b.shared
	for _, n := range b.low {
		higher -= n
	}
	for i, m := range b.takers {
		quota := b.low[i]
		if b.runs(m.ID) > quota && b.high[i] > quota && higher > 0 {
			quota, higher = b.high[i], higher-1
		}
		for p, owner := range b.now {
			if owner == m.ID && b.held[i] < quota {
				b.put(p, i)
			}
		}
	}
}

func (b *board) runs(id checkpoint.NodeID) (n int) {
	for _, owner := range b.now {
		if owner == id {
			n++
		}
	}
	return n
}

// home gives each free partition to the taker that it ranks highest, of those below their
// share while there are any.
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

func (b *board) put(p, taker int) {
	b.at[p] = taker
	b.held[taker]++
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
