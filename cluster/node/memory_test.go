package node

import "testing"

// Each row is a look at a heap bounded at 1000: what lived at the newest collection, and whether
// the checkpoint under way has ended since the look before.
func TestMemoryDoesNotWaitForTheNextCheckpoint(t *testing.T) {
	type row struct {
		live    uint64
		ended   bool
		want    step
		level   uint32
		failing bool
	}
	early, hold, letGo := step{round: true}, step{round: true, hold: true}, step{letGo: true}
	for name, rows := range map[string][]row{
		"a node that has room": {{100, false, step{}, roomy, false}, {300, false, step{}, roomy, false}, {349, false, step{}, roomy, false}},
		"what lives grows": {{100, false, step{}, roomy, false}, {350, false, early, roomy, false}, {400, false, step{}, roomy, false},
			{120, true, step{}, roomy, false}, {369, false, step{}, roomy, false}, {370, false, early, roomy, false}},
		"a checkpoint that frees little is not made again and again": {{100, false, step{}, roomy, false}, {500, false, early, tight, false},
			{500, true, step{}, tight, false}, {600, false, step{}, tight, false}},
		"the input waits": {{600, false, step{}, tight, false}, {700, false, hold, full, false}, {700, false, step{}, full, false}, {700, true, letGo, full, false},
			{300, false, step{}, roomy, false}},
		"the input waits for the checkpoint under way": {{100, false, step{}, roomy, false}, {400, false, early, roomy, false}, {800, false, step{hold: true}, full, false},
			{800, true, letGo, full, false}},
		"checkpoints fail": {{100, false, step{}, roomy, true}, {800, false, early, full, true}, {900, false, step{}, full, true},
			{900, true, step{}, full, true}, {990, false, step{}, full, true}, {990, false, hold, full, false}},
		"what lives for good is no reason": {{800, false, step{}, full, false}, {890, false, step{}, full, false}, {900, false, hold, full, false}, {850, true, letGo, full, false},
			{900, false, step{}, full, false}},
	} {
		t.Run(name, func(t *testing.T) {
			var m memory
			for i, r := range rows {
				m.ended.Store(r.ended)
				if got := m.look(r.live, 1000, r.failing); got != r.want || m.filled.Load() != r.level {
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
