package node

import (
	"maps"
	"slices"

	"taximeter/checkpoint"
	"taximeter/cluster"
	"taximeter/cluster/admin"
	"taximeter/schemas"
)

// Cluster tells whom this node sees and what the chain gives to whom.
func (n *Node) Cluster() admin.ClusterStatus {
	view := n.crew.view()
	st := admin.ClusterStatus{Node: n.cfg.NodeID, Life: n.born, Alone: n.crew.gossip == nil, Joined: view.Joined}
	if strange := n.crew.strange.Load(); strange != nil {
		st.Error = (*strange).Error()
	}
	tip := n.tip.Load()
	if tip == nil {
		return st
	}
	st.Manifest, st.Revoked, st.Protocol = int64(tip.Number), n.revoked.Load(), int(tip.Speaks())
	if n.voices != nil { // there is an output
		st.Ended = n.voices.TransactionsEnded()
	}
	owners := ownersOf(*tip)
	roster := view.Roster(*tip)
	target := cluster.Place(roster, owners)
	held := n.heldCopies()
	behind, bytes := n.standby.freshness()
	st.Copies = admin.Copies{Bytes: bytes, Behind: behind}
	owned := make(map[checkpoint.NodeID]int)
	for p, e := range tip.Entries {
		owned[e.Owner]++
		at := admin.Placement{Partition: schemas.Partition(p), Owner: string(e.Owner), Epoch: int64(e.Epoch), Made: int64(e.Made)}
		if target[p] != e.Owner {
			at.Target = string(target[p])
		}
		for _, id := range slices.Sorted(maps.Keys(held)) {
			if made := held[id][at.Partition]; made > 0 && id != e.Owner {
				at.Standbys = append(at.Standbys, admin.Standby{Node: string(id), Made: int64(made)})
			}
		}
		st.Partitions = append(st.Partitions, at)
	}
	for _, m := range view.Members {
		if !tip.IsMember(m.ID) {
			roster = append(roster, m) // in view, not a member yet or any more
		}
	}
	for _, m := range roster {
		st.Members = append(st.Members, admin.MemberStatus{ID: string(m.ID), Member: tip.IsMember(m.ID), Duty: m.Duty.String(), Version: m.Version, Speaks: [2]int{int(m.Speaks.Min), int(m.Speaks.Max)},
			Weight: m.Weight, Zone: m.Zone, Admin: m.Admin, Owned: owned[m.ID]})
	}
	return st
}

// heldCopies is who holds copies of what, as far as known.
func (n *Node) heldCopies() map[checkpoint.NodeID]cluster.Copies {
	if n.crew.pulse == nil {
		return nil
	}
	return n.crew.pulse.held()
}
