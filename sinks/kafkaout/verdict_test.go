package kafkaout

import (
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// What cannot be known or may not be written is not looked up again at each opening.
func TestAVerdictStandsForAWhile(t *testing.T) {
	w := newWorld(t)
	producer, epoch := leftOpen(t, w)
	w.logStates(state(kmsg.TransactionStateOngoing, producer, epoch, 2))
	looked := 0
	w.cluster.ControlKey(int16(kmsg.ListOffsets), func(r kmsg.Request) (kmsg.Response, error, bool) {
		w.cluster.KeepControl()
		if r.(*kmsg.ListOffsetsRequest).Topics[0].Topic == coordinatorLog {
			looked++
		}
		return nil, nil, false
	})
	refused := func() int {
		t.Helper()
		before := looked
		if _, err := w.kafka.OpenAlerts(w.ctx(), ours3); !errors.Is(err, errUndecided) {
			t.Fatal(err)
		}
		return looked - before
	}
	if n := refused(); n == 0 {
		t.Error("not looked up")
	}
	if n := refused(); n != 0 {
		t.Errorf("looked up again, with %d questions", n)
	}
	w.kafka.verdicts.Range(func(key, v any) bool {
		w.kafka.verdicts.Store(key, verdict{v.(verdict).err, time.Now()})
		return true
	})
	if n := refused(); n == 0 {
		t.Error("not looked up again after a while")
	}
}
