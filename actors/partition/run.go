package partition

import (
	"fmt"
	"runtime/debug"

	"taximeter/actors/trip"
	"taximeter/schemas"
)

// Direct runs trips by plain calls: for files and tests. The shell's runner goes through
// the trips' actors instead.
type Direct struct{}

func (Direct) Take(s *Slot, env *trip.Env, e *schemas.Event) (v schemas.Verdict, panicked string) {
	defer catch(&panicked)
	return s.Trip.Take(env, e), ""
}

func (Direct) Advance(s *Slot, env *trip.Env) (panicked string) {
	defer catch(&panicked)
	s.Trip.Advance(env)
	return ""
}

func (Direct) Look(*Slot)  {}
func (Direct) Evict(*Slot) {}

func catch(panicked *string) {
	if r := recover(); r != nil {
		*panicked = fmt.Sprintf("%v\n%s", r, debug.Stack())
	}
}
