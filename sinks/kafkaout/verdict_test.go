package kafkaout

import (
	"errors"
	"testing"
	"testing/synctest"
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
	for s, v := range w.kafka.verdicts.standing {
		w.kafka.verdicts.pass(s, v.err, 0)
	}
	if n := refused(); n == 0 {
		t.Error("not looked up again after a while")
	}
}

// Each transaction that could not be ended is another one; over months a node meets many.
func TestVerdictsThatStandNoMoreAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var v verdicts
		for start := range int64(100) {
			v.pass(suspect{start: start}, errUndecided, verdictPause)
			<-time.After(verdictPause / 4)
		}
		if n := len(v.standing); n > 4 {
			t.Errorf("%d are remembered, of which none but 3 stand", n)
		}
		if err := v.on(suspect{start: 99}); !errors.Is(err, errUndecided) {
			t.Errorf("the last one: %v", err)
		}
	})
}
