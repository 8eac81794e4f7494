// Package heap sets how the garbage collector works in every process that meters: the
// program and the benches that measure it. It must not be called by libraries.
package heap

import (
	"math"
	"os"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// How much the heap may grow between collections, in percent of what lives. The heap is
// mostly trips that live long: a collection finds little and walks all of it, so rare ones
// cost memory and little else. Where memory has a bound the collector works more often
// before it is reached, whatever the percentage.
const (
	percentBounded   = 400
	percentUnbounded = 200
)

// The bound is a share of what the process may use; the rest is for what is not Go's heap,
// and on a machine without limits for other programs.
const (
	shareOfContainer = 0.75
	shareOfMachine   = 0.5
)

// Tune sets both, but for what GOGC and GOMEMLIMIT in the environment decide.
func Tune() {
	share := memlimit.ApplyFallback(
		memlimit.ApplyRatio(memlimit.FromCgroup, shareOfContainer),
		memlimit.ApplyRatio(memlimit.FromSystem, shareOfMachine))
	// Where neither can be read there is no bound, which is looked at next.
	_, _ = memlimit.SetGoMemLimitWithOpts(memlimit.WithProvider(share), memlimit.WithRatio(1))
	percent := percentBounded
	if debug.SetMemoryLimit(-1) == math.MaxInt64 {
		percent = percentUnbounded
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}
