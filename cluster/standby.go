package cluster

import (
	"cmp"
	"slices"

	"taximeter/checkpoint"
	"taximeter/schemas"
)

// Copies says of which cuts a node holds the files, though others run the partitions: by
// the number of the manifest that made them.
type Copies map[schemas.Partition]checkpoint.Number

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

// Warm lists the partitions whose files a node should hold, the most urgent first: of the
// moves to it that should be under way, then of all that are to come to it, then of those
// that it is a standby of.
func Warm(self checkpoint.NodeID, members []Member, owners, target []checkpoint.NodeID, plan []Move, copies int) []schemas.Partition {
	if !slices.ContainsFunc(members, func(m Member) bool { return m.ID == self && m.takes() }) {
		return nil
	}
	var warm []schemas.Partition
	add := func(p schemas.Partition) {
		if owner := owners[p]; owner != self && owner != "" && !slices.Contains(warm, p) {
			warm = append(warm, p)
		}
	}
	for _, m := range plan {
		if m.To == self {
			add(m.Partition)
		}
	}
	for p, to := range target {
		if to == self {
			add(schemas.Partition(p))
		}
	}
	for p, chosen := range Standbys(members, owners, copies) {
		if slices.Contains(chosen, self) {
			add(schemas.Partition(p))
		}
	}
	return warm
}

// Successors says who runs what when the dead are taken over: each of their partitions goes
// to whoever holds the newest copy of it, however uneven that is; Place and Plan then level
// it with planned moves. Where nobody has one it goes where Place wants it; "" = nowhere.
// Nothing else moves. members may hold the dead: they get nothing.
func Successors(members []Member, owners, dead []checkpoint.NodeID, held map[checkpoint.NodeID]Copies) []checkpoint.NodeID {
	living := slices.DeleteFunc(slices.Clone(members), func(m Member) bool { return slices.Contains(dead, m.ID) })
	slices.SortFunc(living, byID)
	next := slices.Clone(owners)
	var orphans []schemas.Partition
	for p, owner := range owners {
		if !slices.Contains(dead, owner) {
			continue
		}
		if next[p] = freshest(living, schemas.Partition(p), held); next[p] == "" {
			orphans = append(orphans, schemas.Partition(p))
		}
	}
	placed := Place(living, next)
	for _, p := range orphans {
		next[p] = placed[p]
	}
	return next
}

// freshest is who holds the newest copy, of equals the first in rendezvous order; "" = nobody.
func freshest(living []Member, p schemas.Partition, held map[checkpoint.NodeID]Copies) (best checkpoint.NodeID) {
	newest, top := checkpoint.Number(0), 0.0
	for _, m := range living {
		made := held[m.ID][p]
		if s := score(int(p), m); m.takes() && made > 0 && (made > newest || made == newest && s > top) {
			best, newest, top = m.ID, made, s
		}
	}
	return best
}
