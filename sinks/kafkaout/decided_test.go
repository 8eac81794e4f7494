package kafkaout

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"

	"taximeter/schemas"
)

func TestADecisionIsBelievedOnlyBesideItsTransaction(t *testing.T) {
	const (
		ongoing = kmsg.TransactionStateOngoing
		commit  = kmsg.TransactionStatePrepareCommit
		abort   = kmsg.TransactionStatePrepareAbort
		done    = kmsg.TransactionStateCompleteCommit
		empty   = kmsg.TransactionStateEmpty
	)
	of := kadm.DescribedProducer{Topic: schemas.TopicAlertIDs, Partition: 3, ProducerID: 7, ProducerEpoch: 4, CurrentTxnStartOffset: 0}
	for name, c := range map[string]struct {
		states []kmsg.TxnMetadataValue
		want   string
	}{
		"nothing":                          {nil, ""},
		"committed":                        {[]kmsg.TxnMetadataValue{state(ongoing, 7, 4, 0), state(ongoing, 7, 4, 0, 3), state(commit, 7, 5, 0, 3), state(done, 7, 5)}, "commit 5"},
		"aborted":                          {[]kmsg.TxnMetadataValue{state(ongoing, 7, 4, 3), state(abort, 7, 5, 3)}, "abort 5"},
		"the transactions around it":       {[]kmsg.TxnMetadataValue{state(ongoing, 7, 3, 3), state(abort, 7, 4, 3), state(ongoing, 7, 4, 3), state(commit, 7, 5, 3), state(ongoing, 7, 5, 3), state(abort, 7, 6, 3)}, "commit 5"},
		"still under way":                  {[]kmsg.TxnMetadataValue{state(ongoing, 7, 4, 3)}, ""},
		"of another partition":             {[]kmsg.TxnMetadataValue{state(ongoing, 7, 4, 2), state(commit, 7, 5, 2)}, ""},
		"of another producer":              {[]kmsg.TxnMetadataValue{state(ongoing, 8, 4, 3), state(commit, 8, 5, 3)}, ""},
		"the beginning is lost":            {[]kmsg.TxnMetadataValue{state(commit, 7, 5, 3), state(done, 7, 5)}, ""},
		"something between":                {[]kmsg.TxnMetadataValue{state(ongoing, 7, 4, 3), state(empty, 7, 5), state(commit, 7, 6, 3)}, ""},
		"of version 1, which keeps epochs": {[]kmsg.TxnMetadataValue{state(ongoing, 7, 4, 3), state(commit, 7, 4, 3)}, ""},
		"of version 1, fenced":             {[]kmsg.TxnMetadataValue{state(ongoing, 7, 4, 3), state(commit, 7, 4, 3), state(ongoing, 7, 4, 3), state(abort, 7, 5, 3)}, "abort 5"},
	} {
		s := search{of: of}
		for i := range c.states {
			s.take(&c.states[i], 2)
		}
		got := ""
		if d := s.found; d != nil {
			if d.coordinator != 2 {
				t.Errorf("%s: coordinator epoch %d", name, d.coordinator)
			}
			got = map[bool]string{true: "commit", false: "abort"}[d.commit] + fmt.Sprint(" ", d.epoch)
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// The values are Java's.
func TestCoordinatorHash(t *testing.T) {
	for text, want := range map[string]int32{"": 0, "hello": 99162322, "polygenelubricants": 0, "ação": 3118866, "😀": 1772899} {
		if got := coordinatorHash(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}
