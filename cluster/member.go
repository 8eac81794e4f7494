package cluster

import (
	"cmp"
	"fmt"
	"slices"

	"taximeter/checkpoint"
)

// Duty is what a node is ready to do.
type Duty uint8

const (
	// Serving runs partitions and takes more.
	Serving Duty = iota
	// Draining takes nothing, keeps nothing as standby, and hands over what it runs.
	Draining
	// Resigned runs nothing, because it lost Kafka or the object store: what the chain still
	// gives to it may be taken as from a dead node.
	Resigned
	// Absent is a member of the chain that is not in view. It keeps what it has until the
	// take-over rule allows more, and gets nothing. No node says this of itself.
	Absent
)

func (d Duty) String() string {
	if names := [...]string{"serving", "draining", "resigned", "absent"}; int(d) < len(names) {
		return names[d]
	}
	return fmt.Sprintf("duty %d", uint8(d))
}

// Member is what a node says of itself.
type Member struct {
	ID checkpoint.NodeID
	// Life is when its process started, in ns. A node that restarts faster than gossip notices
	// differs in nothing else.
	Life    int64
	Remote  string // host:port where other nodes ask it (cluster/grain)
	Admin   string // host:port of its admin API
	Version string // of the program, for people
	Speaks  Protocols
	Weight  int    // capacity, relative to the other members'; 0 = runs nothing
	Zone    string // "" = unknown; standbys stand in another zone if there is one
	Duty    Duty
}

// takes reports whether partitions may be given to the member.
func (m Member) takes() bool { return m.Duty == Serving && m.Weight > 0 }

// View is whom a node can reach, at one moment. It is a value: nobody may modify its slices.
type View struct {
	Self checkpoint.NodeID
	// Joined is set once a join succeeded or a bootstrap was asked for. Before that a node
	// sees itself as the only one, and must not take anything.
	Joined  bool
	Members []Member // reachable, self included; sorted by id
	Lost    []Member // known and out of reach, crashed or gone; sorted by id
}

// Without is the view as if these members were out of reach.
func (v View) Without(dead []checkpoint.NodeID) View {
	v.Members = slices.DeleteFunc(slices.Clone(v.Members), func(m Member) bool { return slices.Contains(dead, m.ID) })
	return v
}

// Member looks up a reachable member.
func (v View) Member(id checkpoint.NodeID) (Member, bool) { return lookup(v.Members, id) }

func lookup(sorted []Member, id checkpoint.NodeID) (Member, bool) {
	i, ok := slices.BinarySearchFunc(sorted, id, func(m Member, id checkpoint.NodeID) int { return cmp.Compare(m.ID, id) })
	if !ok {
		return Member{}, false
	}
	return sorted[i], true
}

// Alive lists the reachable members that have not resigned: an observer's evidence.
func (v View) Alive() []checkpoint.NodeID {
	var alive []checkpoint.NodeID
	for _, m := range v.Members {
		if m.Duty != Resigned {
			alive = append(alive, m.ID)
		}
	}
	return alive
}

// Majority reports whether more than half of the tip's members are reached and have not
// resigned. They are counted in the tip: an isolated node must not count itself the majority.
func (v View) Majority(tip checkpoint.Manifest) bool {
	alive, reached := v.Alive(), 0
	for _, id := range tip.Members {
		if slices.Contains(alive, id) {
			reached++
		}
	}
	return 2*reached > len(tip.Members)
}

// Admits reports whether this node may make itself a member: it reaches the majority of the
// members, or there are none. Otherwise those who do not see it would end its membership
// again, and again.
func (v View) Admits(tip checkpoint.Manifest) bool {
	return len(tip.Members) == 0 || v.Majority(tip)
}

// Roster is the chain's members as the view shows them; who is not in view is Absent. It is
// what Place works on: partitions go to members of the chain only, so a node in view joins
// by a manifest first.
func (v View) Roster(tip checkpoint.Manifest) []Member {
	roster := make([]Member, 0, len(tip.Members))
	for _, id := range tip.Members {
		m, ok := v.Member(id)
		if !ok {
			m, _ = lookup(v.Lost, id) // its zone still matters
			m.ID, m.Duty = id, Absent
		}
		roster = append(roster, m)
	}
	return roster
}

// Coordinator is who should derive the next manifests: of the chain's members in view the
// first by id, those that serve before those that drain. Views may differ for a while; two
// coordinators then take turns on the chain. "" = none.
func (v View) Coordinator(tip checkpoint.Manifest) checkpoint.NodeID {
	for _, duty := range []Duty{Serving, Draining} {
		for _, m := range v.Members {
			if m.Duty == duty && tip.IsMember(m.ID) {
				return m.ID
			}
		}
	}
	return ""
}
