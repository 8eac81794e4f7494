package kafkaout

import (
	"errors"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A transactional id that has got another producer id ends what it left open under the one before, and nobody else's.
func TestWhatWasLeftOpenUnderAFormerProducerIDEnds(t *testing.T) {
	for name, c := range map[string]struct {
		epoch  int16 // of the new producer
		logged bool  // as the id's own
		may    bool
		want   int64 // are ended
		err    string
	}{
		"ours":                {epoch: 1, logged: true, may: true, want: 1},
		"somebody else's":     {epoch: 1, may: true},
		"long ago":            {epoch: youngEpoch, logged: true, may: true},
		"ours, without Alter": {epoch: 1, logged: true, err: "operations.md"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.kafka.patience = 0
			producer, epoch := former(t, w)
			w.gives(producer+1000, c.epoch)
			w.logStates(state(kmsg.TransactionStateEmpty, producer+1000, 0))
			if c.logged {
				w.logStates(state(kmsg.TransactionStateOngoing, producer, epoch, 3), state(kmsg.TransactionStatePrepareCommit, producer, epoch+1, 3),
					state(kmsg.TransactionStateEmpty, producer+1000, 0))
			}
			if !c.may {
				w.cluster.ControlKey(int16(kmsg.WriteTxnMarkers), func(r kmsg.Request) (kmsg.Response, error, bool) {
					m := r.(*kmsg.WriteTxnMarkersRequest).Markers[0]
					response := r.ResponseKind().(*kmsg.WriteTxnMarkersResponse)
					response.Markers = []kmsg.WriteTxnMarkersResponseMarker{{ProducerID: m.ProducerID, Topics: []kmsg.WriteTxnMarkersResponseMarkerTopic{{Topic: m.Topics[0].Topic,
						Partitions: []kmsg.WriteTxnMarkersResponseMarkerTopicPartition{{Partition: 3, ErrorCode: kerr.ClusterAuthorizationFailed.Code}}}}}}
					return response, nil, true
				})
			}
			a, err := w.kafka.OpenAlerts(w.ctx(), ours3)
			switch {
			case err == nil && c.err == "":
				a.Close()
			case err == nil || c.err == "" || !strings.Contains(err.Error(), c.err) || !errors.Is(err, kerr.ClusterAuthorizationFailed):
				t.Fatalf("%v, want %q", err, c.err)
			}
			if n := w.kafka.TransactionsEnded(); n != c.want {
				t.Errorf("%d ended, want %d", n, c.want)
			}
		})
	}
}
