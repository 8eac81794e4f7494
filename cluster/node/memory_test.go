package node

import "testing"

// Each row is a look at a heap bounded at 1000: what lived at the newest collection, and whether
// the checkpoint under way has ended since the look before.
func TestMemoryDoesNotWaitForTheNextCheckpoint(t *testing.T) {
	type row struct {
		live  uint64
		ended bool
		want  step
		level uint32
	}
	early, hold, letGo := step{round: true}, step{round: true, hold: true}, step{letGo: true}
	for name, rows := range map[string][]row{
		"a node that has room": {{100, false, step{}, roomy}, {300, false, step{}, roomy}, {349, false, step{}, roomy}},
		"what lives grows": {{100, false, step{}, roomy}, {350, false, early, roomy}, {400, false, step{}, roomy},
			{120, true, step{}, roomy}, {369, false, step{}, roomy}, {370, false, early, roomy}},
		"a checkpoint that frees little is not made again and again": {{100, false, step{}, roomy}, {500, false, early, tight},
			{500, true, step{}, tight}, {600, false, step{}, tight}},
		"the input waits": {{600, false, step{}, tight}, {700, false, hold, full}, {700, false, step{}, full}, {700, true, letGo, full},
			{300, false, step{}, roomy}},
		"the input waits for the checkpoint under way": {{100, false, step{}, roomy}, {400, false, early, roomy}, {800, false, step{hold: true}, full},
			{800, true, letGo, full}},
		"what lives for good is no reason": {{800, false, step{}, full}, {890, false, step{}, full}, {900, false, hold, full}, {850, true, letGo, full},
			{900, false, step{}, full}},
	} {
		t.Run(name, func(t *testing.T) {
			var m memory
			for i, r := range rows {
				m.ended.Store(r.ended)
				if got := m.look(r.live, 1000); got != r.want || m.filled.Load() != r.level {
					t.Errorf("look %d: %+v at level %d, want %+v at %d", i, got, m.filled.Load(), r.want, r.level)
				}
			}
		})
	}
}

func TestTripsLeaveMemorySoonerWhenItIsScarce(t *testing.T) {
	n := &Node{}
	n.cfg.Memory.IdleSeals = 10
	for level, want := range map[uint32]int64{roomy: 10, tight: 1, full: 0} {
		n.memory.filled.Store(level)
		if got := n.idleSeals(); got != want {
			t.Errorf("level %d: %d, want %d", level, got, want)
		}
	}
}
