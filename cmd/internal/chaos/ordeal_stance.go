package chaos

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"taximeter/cluster/admin"
)

// stance is what a node says of itself.
type stance struct {
	partitions []admin.PartitionStatus
	tip        int64
	sinks      []admin.SinkStatus
	fault      string // of the last checkpoint
	memory     int64  // bytes
}

func (r *ordealRun) look(ctx context.Context) (s stance, err error) {
	if s.partitions, err = get[[]admin.PartitionStatus](ctx, &r.client, r.admin+"/partitions"); err != nil {
		return s, err
	}
	if len(s.partitions) != ordealPartitions {
		return s, fmt.Errorf("the node tells of %d partitions", len(s.partitions))
	}
	c, err := get[admin.CheckpointStatus](ctx, &r.client, r.admin+"/checkpoints")
	if err != nil {
		return s, err
	}
	s.tip, s.fault, s.sinks = c.Tip, c.LastError, c.Sinks
	s.memory, err = residentBytes(r.process.cmd.Process.Pid)
	r.most = max(r.most, s.memory)
	return s, err
}

// behind is how many of the newest checkpoints each sink of tables has not taken.
func (s *stance) behind() map[string]int64 {
	behind := make(map[string]int64)
	for i := range s.sinks {
		behind[s.sinks[i].Name] = s.tip - s.sinks[i].Held
	}
	return behind
}

// residentBytes of a process.
func residentBytes(pid int) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, err
	}
	var size, resident int64
	if _, err := fmt.Sscan(string(text), &size, &resident); err != nil {
		return 0, fmt.Errorf("/proc/%d/statm: %w", pid, err)
	}
	return resident * int64(os.Getpagesize()), nil
}

// public waits until every partition has published the outbox of a checkpoint of at least
// that number, and nothing waits, and tables have it too.
func (r *ordealRun) public(ctx context.Context, number int64) (time.Time, error) {
	why := ""
	err := until(ctx, r.x.patience(), func() bool {
		at, err := r.look(ctx)
		if err != nil {
			why = err.Error()
			return r.process.gone()
		}
		why = ""
		for _, p := range at.partitions {
			if p.State != "running" || p.Published < number || strings.Join(p.Waiting[:], "") != "" {
				why = fmt.Sprintf("partition %d is %s %s, has published what %d holds of %d, waits for %q; last fault of a checkpoint: %s",
					p.Partition, p.State, p.Error, p.Published, number, p.Waiting, at.fault)
			}
		}
		for _, s := range at.sinks {
			if s.Held < number {
				why = fmt.Sprintf("sink %s holds what %d holds of %d: %s", s.Name, s.Held, number, s.Error)
			}
		}
		return why == ""
	})
	if err == nil && why != "" {
		err = errors.New("the node is gone")
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("%w: the node is not well: %s", err, why)
	}
	return time.Now(), nil
}
