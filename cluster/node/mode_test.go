package node

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"taximeter/checkpoint"
	"taximeter/checkpoint/storetest"
	"taximeter/cluster"
)

func TestAReplayDoesNotRunBesideLiveNodes(t *testing.T) {
	members := []checkpoint.NodeID{"gone", "other"}
	for name, c := range map[string]struct {
		mode   Mode
		beats  time.Duration // of the other's heart; 0 = it stands still
		replay bool          // is the other's mode
		refuse string
	}{
		"live beside live":              {Live, cluster.HeartbeatEvery, false, ""},
		"replay beside replay":          {Replay, cluster.HeartbeatEvery, true, ""},
		"replay beside live":            {Replay, cluster.HeartbeatEvery, false, "runs namespace \"ns\" live"},
		"replay beside a slow live one": {Replay, 10 * time.Second, false, "runs namespace \"ns\" live"},
		"live beside replay":            {Live, cluster.HeartbeatEvery, true, "replays namespace \"ns\""},
		"replay after a killed node":    {Replay, 0, false, ""},
		"live after a killed replay ":   {Live, 0, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := &Node{store: storetest.NewMemory(), ns: "ns", o: Options{Mode: c.mode}}
				put := func(beat int64) {
					if err := cluster.PutHeartbeat(t.Context(), n.store, n.ns, "other", cluster.Heartbeat{Beat: beat, Replay: c.replay}); err != nil {
						t.Error(err)
					}
				}
				put(1)
				if c.beats > 0 {
					go func() {
						for beat := int64(2); beat < 10; beat++ {
							<-time.After(c.beats)
							put(beat)
						}
					}()
				}
				err := n.meetsNoOtherMode(t.Context(), members)
				if (err == nil) != (c.refuse == "") || err != nil && !strings.Contains(err.Error(), c.refuse) {
					t.Errorf("%v, want %q", err, c.refuse)
				}
				<-time.After(2 * time.Minute) // the other ends
			})
		})
	}
}
