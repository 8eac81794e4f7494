package heap

import (
	"math"
	"runtime/debug"
	"testing"
)

func TestTheHeapGrowsFarOnlyWhereMemoryIsBounded(t *testing.T) {
	for name, c := range map[string]struct {
		env     map[string]string
		bounded bool
		percent int
	}{
		"a machine or container that says what it has": {nil, true, percentBounded},
		"no bound is wanted":                           {map[string]string{"GOMEMLIMIT": "off"}, false, percentUnbounded},
		"the environment decides":                      {map[string]string{"GOGC": "150"}, true, 150},
	} {
		t.Run(name, func(t *testing.T) {
			limit, percent := debug.SetMemoryLimit(math.MaxInt64), debug.SetGCPercent(150)
			defer func() { debug.SetMemoryLimit(limit); debug.SetGCPercent(percent) }()
			t.Setenv("GOGC", "")
			for k, v := range c.env {
				t.Setenv(k, v)
			}
			Tune()
			if bounded := debug.SetMemoryLimit(-1) < math.MaxInt64; bounded != c.bounded {
				t.Errorf("bounded: %v, want %v", bounded, c.bounded)
			}
			if got := debug.SetGCPercent(150); got != c.percent {
				t.Errorf("the heap may grow by %d %%, want %d", got, c.percent)
			}
		})
	}
}
