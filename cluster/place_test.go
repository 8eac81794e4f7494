package cluster

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"taximeter/checkpoint"
)

func nodes(n int) []Member {
	all := make([]Member, n)
	for i := range all {
		all[i] = Member{ID: checkpoint.NodeID(fmt.Sprintf("node-%d", i+1)), Weight: 1}
	}
	return all
}

func loads(owners []checkpoint.NodeID) map[checkpoint.NodeID]int {
	count := make(map[checkpoint.NodeID]int)
	for _, o := range owners {
		count[o]++
	}
	return count
}

func moved(from, to []checkpoint.NodeID) (partitions []int) {
	for p := range from {
		if from[p] != to[p] {
			partitions = append(partitions, p)
		}
	}
	return partitions
}

func ceil(a, b int) int { return (a + b - 1) / b }

func drawSize(t *rapid.T) (members []Member, partitions int) {
	return nodes(rapid.IntRange(1, 50).Draw(t, "nodes")), rapid.IntRange(24, 240).Draw(t, "partitions")
}

// checkBalance: every taker has its share rounded down or up, and nobody else has any.
func checkBalance(t *rapid.T, members []Member, owners []checkpoint.NodeID) {
	t.Helper()
	weight := 0
	for _, m := range members {
		if m.takes() {
			weight += m.Weight
		}
	}
	count := loads(owners)
	for _, m := range members {
		low, high := 0, 0
		if m.takes() {
			low, high = len(owners)*m.Weight/weight, ceil(len(owners)*m.Weight, weight)
		}
		if n := count[m.ID]; n < low || n > high {
			t.Fatalf("%s (weight %d of %d, %s) runs %d of %d partitions, want %d to %d", m.ID, m.Weight, weight, m.Duty, n, len(owners), low, high)
		}
		delete(count, m.ID)
	}
	if len(count) > 0 {
		t.Fatalf("strangers run partitions: %v", count)
	}
}

func TestPlaceFromNothingIsEven(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		members, partitions := drawSize(t)
		owners := Place(members, make([]checkpoint.NodeID, partitions))
		checkBalance(t, members, owners)
	})
}

func TestPlaceByWeight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		members, partitions := drawSize(t)
		for i := range members {
			members[i].Weight = rapid.IntRange(0, 8).Draw(t, "weight")
		}
		members[0].Weight++
		before := Place(members, make([]checkpoint.NodeID, partitions))
		checkBalance(t, members, before)

		joins := Member{ID: "node-0", Weight: rapid.IntRange(1, 8).Draw(t, "its weight")}
		weight := joins.Weight
		for _, m := range members {
			weight += m.Weight
		}
		after := Place(append(members, joins), before)
		checkBalance(t, append(members, joins), after)
		if n, most := len(moved(before, after)), ceil(partitions*joins.Weight, weight)+len(members); n > most {
			t.Fatalf("%d moves for a share of %d/%d of %d partitions, at most %d due", n, joins.Weight, weight, partitions, most)
		}
	})
}

func TestPlaceIgnoresTheOrderOfMembersAndRestsThere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		members, partitions := drawSize(t)
		start := drawOwners(t, members, partitions)
		owners := Place(members, start)
		if again := Place(rapid.Permutation(members).Draw(t, "order"), start); !slices.Equal(owners, again) {
			t.Fatalf("another order of members places otherwise: %v", moved(owners, again))
		}
		if again := Place(members, owners); !slices.Equal(owners, again) {
			t.Fatalf("partitions %v move without cause", moved(owners, again))
		}
	})
}

// drawOwners is any state at all, with partitions of nobody and of strangers.
func drawOwners(t *rapid.T, members []Member, partitions int) []checkpoint.NodeID {
	pick := []checkpoint.NodeID{"", "stranger"}
	for _, m := range members {
		pick = append(pick, m.ID)
	}
	return rapid.SliceOfN(rapid.SampledFrom(pick), partitions, partitions).Draw(t, "owners")
}

func TestPlaceBalancesAnyStateWithTheFewestMoves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		members, partitions := drawSize(t)
		start := drawOwners(t, members, partitions)
		owners := Place(members, start)
		checkBalance(t, members, owners)
		// No even placement keeps more: each member keeps at most the higher share, and only
		// partitions%n members may have it.
		low, extra, kept := partitions/len(members), partitions%len(members), 0
		count := loads(start)
		for _, m := range members {
			kept += min(count[m.ID], low)
			if count[m.ID] > low && extra > 0 {
				kept, extra = kept+1, extra-1
			}
		}
		if n := len(moved(start, owners)); n != partitions-kept {
			t.Fatalf("%d moves where %d suffice", n, partitions-kept)
		}
	})
}

func TestOneThatJoinsTakesItsShareAndNothingElseMoves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		members, partitions := drawSize(t)
		before := Place(members, make([]checkpoint.NodeID, partitions))
		joins := Member{ID: "a-new-one", Weight: 1}
		after := Place(append(members, joins), before)
		moves := moved(before, after)
		if most := ceil(partitions, len(members)+1); len(moves) > most {
			t.Fatalf("%d of %d partitions move to one that joins %d, at most %d due", len(moves), partitions, len(members), most)
		}
		for _, p := range moves {
			if after[p] != joins.ID {
				t.Fatalf("partition %d moves from %s to %s, past the one that joined", p, before[p], after[p])
			}
		}
	})
}

func TestOfOneThatLeavesOrDrainsOnlyItsOwnMove(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		members, partitions := drawSize(t)
		members = append(members, Member{ID: "one-more", Weight: 1})
		before := Place(members, make([]checkpoint.NodeID, partitions))
		i := rapid.IntRange(0, len(members)-1).Draw(t, "who")
		gone := members[i].ID
		left := slices.Delete(slices.Clone(members), i, i+1)
		members[i].Duty = rapid.SampledFrom([]Duty{Draining, Resigned}).Draw(t, "duty")
		for _, after := range [][]checkpoint.NodeID{Place(left, before), Place(members, before)} {
			for p := range before {
				if (before[p] == gone) != (before[p] != after[p]) {
					t.Fatalf("%s leaves, and partition %d of %s goes to %s", gone, p, before[p], after[p])
				}
			}
			checkBalance(t, left, after)
		}
	})
}

func TestAbsentMembersKeepTheirsAndGetNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		members, partitions := drawSize(t)
		start := drawOwners(t, members, partitions)
		for i := range members {
			members[i].Duty = rapid.SampledFrom([]Duty{Serving, Absent}).Draw(t, "duty")
		}
		owners := Place(members, start)
		for _, m := range members {
			if m.Duty != Absent {
				continue
			}
			for p := range owners {
				if (start[p] == m.ID) != (owners[p] == m.ID) {
					t.Fatalf("partition %d of %q goes to %q while %s is absent", p, start[p], owners[p], m.ID)
				}
			}
		}
	})
}

func TestNobodyToTakeAnythingLeavesAllWhereItIs(t *testing.T) {
	members := nodes(2)
	members[0].Duty, members[1].Weight = Draining, 0
	now := []checkpoint.NodeID{"node-1", "node-2", "", "stranger"}
	if got := Place(members, now); !slices.Equal(got, now) {
		t.Fatalf("placed %v", got)
	}
}

// TestWalk joins, drains, leaves and crashes members at random, and moves by Plan.
func TestWalk(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		partitions := rapid.IntRange(24, 240).Draw(t, "partitions")
		pace := Pace{AtOnce: rapid.IntRange(1, 16).Draw(t, "at once"), PerReceiver: rapid.IntRange(1, 4).Draw(t, "per receiver")}
		members, born := nodes(3), 3
		owners := Place(members, make([]checkpoint.NodeID, partitions))
		settle := func() {
			target := Place(members, owners)
			due := len(moved(owners, target))
			var underWay []Move
			for round := 0; ; round++ {
				underWay = Plan(members, owners, target, underWay, pace)
				if len(underWay) == 0 {
					break
				}
				if round > due {
					t.Fatalf("%d rounds for %d moves", round, due)
				}
				checkPace(t, underWay, pace)
				done := rapid.IntRange(1, len(underWay)).Draw(t, "done")
				owners = slices.Clone(owners)
				for _, m := range underWay[:done] {
					owners[m.Partition] = m.To
				}
				underWay = underWay[done:]
				if again := Place(members, owners); !slices.Equal(again, target) {
					t.Fatalf("the target shifts on the way: %v", moved(target, again))
				}
			}
			if !slices.Equal(owners, target) {
				t.Fatalf("the moves end %v short of the target", moved(owners, target))
			}
			checkBalance(t, members, owners)
		}
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			i := rapid.IntRange(0, len(members)-1).Draw(t, "who")
			switch step := rapid.SampledFrom([]string{"join", "drain", "crash"}).Draw(t, "step"); {
			case step == "join" || len(members) == 1:
				for range rapid.IntRange(1, 3).Draw(t, "at once") {
					born++
					members = append(members, Member{ID: checkpoint.NodeID(fmt.Sprintf("node-%d", born)), Weight: rapid.IntRange(1, 3).Draw(t, "weight")})
				}
			case step == "drain":
				members[i].Duty = Draining
				settle()
				members = slices.Delete(members, i, i+1)
			default:
				dead := members[i].ID
				members[i].Duty = Absent
				standby := Standbys(members, owners, 1)
				held := make(map[checkpoint.NodeID]Copies)
				for p, chosen := range standby {
					if p%3 > 0 && len(chosen) > 0 { // the others are not warm yet
						if held[chosen[0]] == nil {
							held[chosen[0]] = make(Copies)
						}
						held[chosen[0]][at(p)] = 7
					}
				}
				next := Successors(members, owners, []checkpoint.NodeID{dead}, held)
				for p := range owners {
					warm := len(standby[p]) > 0 && held[standby[p][0]][at(p)] > 0
					if owners[p] == dead && (warm && next[p] != standby[p][0] || next[p] == dead || next[p] == "") || owners[p] != dead && next[p] != owners[p] {
						t.Fatalf("%s is dead; partition %d of %s with standby %v (warm: %t) goes to %q", dead, p, owners[p], standby[p], warm, next[p])
					}
				}
				owners = next
				members = slices.Delete(members, i, i+1)
			}
			settle()
		}
	})
}

func checkPace(t *rapid.T, moves []Move, pace Pace) {
	t.Helper()
	receiving := make(map[checkpoint.NodeID]int)
	for _, m := range moves {
		receiving[m.To]++
		if receiving[m.To] > pace.PerReceiver {
			t.Fatalf("%d moves to %s at once, %d allowed", receiving[m.To], m.To, pace.PerReceiver)
		}
	}
	if len(moves) > pace.AtOnce {
		t.Fatalf("%d moves at once, %d allowed", len(moves), pace.AtOnce)
	}
}

func TestStandbys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		members, partitions := drawSize(t)
		zones := rapid.IntRange(1, 4).Draw(t, "zones")
		zone := make(map[checkpoint.NodeID]string)
		for i := range members {
			members[i].Zone = fmt.Sprintf("zone-%d", i%zones)
			zone[members[i].ID] = members[i].Zone
		}
		copies := rapid.IntRange(0, 3).Draw(t, "copies")
		owners := Place(members, make([]checkpoint.NodeID, partitions))
		all := Standbys(members, owners, copies)
		for p, chosen := range all {
			if len(chosen) != min(copies, len(members)-1) {
				t.Fatalf("partition %d has standbys %v, %d of %d members wanted", p, chosen, copies, len(members))
			}
			seen := map[checkpoint.NodeID]bool{owners[p]: true}
			seenZone := map[string]bool{zone[owners[p]]: true}
			for _, id := range chosen {
				if seen[id] {
					t.Fatalf("partition %d: owner %s, standbys %v", p, owners[p], chosen)
				}
				if seenZone[zone[id]] && len(seenZone) < min(zones, len(members)) {
					t.Fatalf("partition %d: %s shares a zone with %v while another zone has none of it", p, id, seen)
				}
				seen[id], seenZone[zone[id]] = true, true
			}
		}
		// Another's going changes no list that it is not on.
		i := rapid.IntRange(0, len(members)-1).Draw(t, "who")
		gone := members[i].ID
		for p, chosen := range Standbys(slices.Delete(slices.Clone(members), i, i+1), owners, copies) {
			if owners[p] != gone && !slices.Contains(all[p], gone) && !slices.Equal(chosen, all[p]) {
				t.Fatalf("%s goes, and partition %d changes standbys %v for %v", gone, p, all[p], chosen)
			}
		}
	})
}

// TestScoresSpread guards the hash: ids that differ in one digit must not rank alike.
func TestScoresSpread(t *testing.T) {
	const partitions = 24000
	members := nodes(8)
	members[7].Weight = 3
	first := make(map[checkpoint.NodeID]int)
	for p := range partitions {
		first[standbys(members, p, "", 1)[0]]++
	}
	for _, m := range members {
		want := float64(partitions) * float64(m.Weight) / 10
		if got := float64(first[m.ID]); got < 0.9*want || got > 1.1*want {
			t.Errorf("%s is ranked first %v times, want about %v", m.ID, got, want)
		}
	}
}

func BenchmarkPlace(b *testing.B) {
	members := nodes(50)
	owners := Place(members, make([]checkpoint.NodeID, 240))
	for b.Loop() {
		Place(members[1:], owners)
	}
}
