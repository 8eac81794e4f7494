package cluster

import (
	"slices"
	"testing"

	"taximeter/checkpoint"
)

func TestPlanOrderAndPace(t *testing.T) {
	members := []Member{{ID: "a", Weight: 1}, {ID: "b", Weight: 1}, {ID: "c", Duty: Draining}, {ID: "d", Duty: Absent}, {ID: "e", Duty: Resigned}}
	now := []checkpoint.NodeID{"a", "c", "", "d", "e", "stranger", "a", "c", "", "b"}
	to := []checkpoint.NodeID{"b", "b", "a", "a", "a", "a", "b", "a", "", "b"}
	move := func(p int) Move { return Move{Partition: at(p), From: now[p], To: to[p]} }
	for name, c := range map[string]struct {
		underWay []Move
		pace     Pace
		want     []int
	}{
		"all":                      {nil, Pace{9, 9}, []int{2, 1, 7, 0, 6}},
		"what nobody runs, always": {nil, Pace{0, 0}, []int{2}},
		"draining ones first":      {nil, Pace{2, 9}, []int{2, 1, 7}},
		"one to each":              {nil, Pace{9, 1}, []int{2, 1, 7}},
		"a move under way goes on": {[]Move{move(6)}, Pace{2, 1}, []int{2, 6, 7}},
		"a lower pace stops none":  {[]Move{move(6), move(0), move(1)}, Pace{1, 1}, []int{2, 0, 1, 6}},
		"another aim ends a move":  {[]Move{{Partition: 6, From: "a", To: "x"}}, Pace{1, 1}, []int{2, 1}},
	} {
		var want []Move
		for _, p := range c.want {
			want = append(want, move(p))
		}
		if got := Plan(members, now, to, c.underWay, c.pace); !slices.Equal(got, want) {
			t.Errorf("%s:\n got %v\nwant %v", name, got, want)
		}
	}
}
