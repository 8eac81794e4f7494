package main

import (
	"testing"

	"taximeter/bench/internal/oracle"
	"taximeter/schemas"
)

func TestPlainOracleSeesEveryPosition(t *testing.T) {
	first, second := oracle.WindowKey{Trip: "a", Start: 0}, oracle.WindowKey{Trip: "a", Start: windowSize}
	results := func(points, rejected int) *oracle.Results {
		return &oracle.Results{Windows: map[oracle.WindowKey]schemas.Window{first: {Points: points, Rejected: rejected}}}
	}
	truth := &plainTruth{positions: map[oracle.WindowKey]int{first: 3}}
	leftOut := &plainTruth{positions: truth.positions, leftOut: map[oracle.WindowKey]bool{first: true}}
	elsewhere := results(3, 0)
	elsewhere.Windows[second] = schemas.Window{Points: 1}
	for _, c := range []struct {
		name  string
		truth *plainTruth
		got   *oracle.Results
		n     int
	}{
		{"same", truth, results(3, 0), 0},
		{"otherwise filtered", truth, results(2, 1), 0},
		{"one twice", truth, results(4, 0), 1},
		{"one lost", truth, results(2, 0), 1},
		{"window lost", truth, &oracle.Results{}, 1},
		{"window made up", truth, elsewhere, 1},
		{"left out", leftOut, results(1, 0), 0},
	} {
		if n, some := c.truth.compare(c.got); n != c.n {
			t.Errorf("%s: %d differences, want %d: %q", c.name, n, c.n, some)
		}
	}
}
