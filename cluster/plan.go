package cluster

import (
	"slices"

	"taximeter/checkpoint"
	"taximeter/schemas"
)

// Move takes a partition from its owner to another node. From is "" if nobody runs it.
type Move struct {
	Partition schemas.Partition
	From, To  checkpoint.NodeID
}

// Pace bounds how many planned moves are under way, so that a join never storms the object
// store. More at once balances sooner and loads the store more.
type Pace struct {
	AtOnce      int // in the cluster
	PerReceiver int // to one node, which reads the state
}

// Plan is the set of moves that should be under way now, towards the target; those under
// way already go on if they still lead there. First what nobody runs, all of it: nothing
// is processed there. Then, within the pace, what draining members run, then the rest.
//
// Partitions of Absent and Resigned members are not planned: those are taken over.
func Plan(members []Member, now, target []checkpoint.NodeID, underWay []Move, pace Pace) []Move {
	duty := make(map[checkpoint.NodeID]Duty, len(members))
	for _, m := range members {
		duty[m.ID] = m.Duty
	}
	var starts, ongoing, drains, levels []Move
	for p, from := range now {
		m := Move{Partition: schemas.Partition(p), From: from, To: target[p]}
		d, known := duty[from]
		switch {
		case m.To == from || m.To == "":
		case from == "":
			starts = append(starts, m)
		case !known || d == Absent || d == Resigned:
		case slices.Contains(underWay, m):
			ongoing = append(ongoing, m)
		case d == Draining:
			drains = append(drains, m)
		default:
			levels = append(levels, m)
		}
	}
	// Ongoing moves hold their slots even if the pace was lowered: warming up is paid for.
	moves := ongoing
	receiving := make(map[checkpoint.NodeID]int)
	for _, m := range moves {
		receiving[m.To]++
	}
	for _, m := range slices.Concat(drains, levels) {
		if len(moves) < pace.AtOnce && receiving[m.To] < pace.PerReceiver {
			receiving[m.To]++
			moves = append(moves, m)
		}
	}
	return append(starts, moves...)
}
