package node

import (
	"testing"

	"taximeter/actors/ingest"
	"taximeter/schemas"
)

// What a lane had fetched before it stopped it still gives, and only this process has it.
func TestAStoppedInputIsToldUpToWhatWasFetched(t *testing.T) {
	n := &Node{tasks: map[schemas.Partition]*task{}}
	run := &task{node: n}
	view := &sourceView{}
	view.lanes[schemas.Telemetry] = ingest.LaneStatus{Next: 10, Fetched: 17, Stopped: &ingest.OutOfRangeError{Wanted: 17, LogStart: 24}}
	run.ends.Store(view)
	n.tasks[0] = run
	if got := n.stoppedInputs(); len(got) != 1 || got[0].Topic != schemas.Telemetry || got[0].Next != 17 {
		t.Errorf("told %+v", got)
	}
}
