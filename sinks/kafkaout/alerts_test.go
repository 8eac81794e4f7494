package kafkaout

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/schemas"
)

func TestAlertsAreReadBackFromTheirOwnLog(t *testing.T) {
	w := newWorld(t)
	v := w.open(w.kafka)
	send := func(v *Voice, ids ...string) schemas.Offset {
		t.Helper()
		var alerts []schemas.Alert
		for _, id := range ids {
			alerts = append(alerts, schemas.Alert{AlertID: id, RuleID: "rule-" + id, TripID: schemas.TripID("trip\n\t" + id), Region: "region-" + id})
		}
		next, err := v.SendAlerts(w.ctx(), alerts)
		if err != nil {
			t.Fatal(err)
		}
		return next
	}
	since := func(v *Voice, from schemas.Offset) ([]string, schemas.Offset) {
		t.Helper()
		sent, next, err := v.AlertsSince(w.ctx(), from)
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, a := range sent {
			if a.RuleID != "rule-"+a.AlertID || a.TripID != schemas.TripID("trip\n\t"+a.AlertID) {
				t.Errorf("the log tells %+v", a)
			}
			ids = append(ids, a.AlertID)
		}
		return ids, next
	}
	if ids, next := since(v, 0); len(ids) != 0 || next != 0 {
		t.Errorf("%v to %d before anything", ids, next)
	}
	if next := send(v); next != 0 {
		t.Errorf("nothing was sent, to %d", next)
	}
	send(v, "a", "b")
	position := send(v, "c")
	send(v, "d")
	send(w.open(w.node("ns2")), "foreign")

	v = w.open(w.node("ns"))
	ids, next := since(v, position)
	if !slices.Equal(ids, []string{"d"}) {
		t.Errorf("since %d: %v", position, ids)
	}
	if ids, _ := since(v, 0); !slices.Equal(ids, []string{"a", "b", "c", "d"}) {
		t.Errorf("since 0: %v", ids)
	}
	if ids, again := since(v, next); len(ids) != 0 || again != next {
		t.Errorf("since the end %d: %v to %d", next, ids, again)
	}
	for _, r := range w.committed(schemas.TopicAlerts) {
		if want := kgo.StickyKeyPartitioner(nil).ForTopic("").Partition(r, tasks); int(r.Partition) != want {
			t.Errorf("alert of %s in partition %d, its hash says %d", r.Key, r.Partition, want)
		}
	}

	// What retention took is left out.
	if _, err := w.kafka.admin.DeleteRecords(w.ctx(), kadm.Offsets{schemas.TopicAlertIDs: {3: {Topic: schemas.TopicAlertIDs, Partition: 3, At: int64(position)}}}); err != nil {
		t.Fatal(err)
	}
	if ids, _ := since(v, 0); !slices.Equal(ids, []string{"d"}) {
		t.Errorf("since 0, after deletion: %v", ids)
	}
}

func TestAFloodOfAlertsIsOneTransaction(t *testing.T) {
	for name, c := range map[string]struct {
		alerts, records int
		trip            schemas.TripID
	}{
		"many":                 {4_001, 1, "t"}, // 37 bytes each
		"more":                 {4_100, 2, "t"},
		"of the longest trips": {500, 4, schemas.TripID(strings.Repeat("\x01", schemas.MaxText))},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			v := w.open(w.kafka)
			alerts := make([]schemas.Alert, c.alerts)
			for i := range alerts {
				alerts[i] = schemas.Alert{AlertID: fmt.Sprintf("%036d", i), Region: fmt.Sprint(i), TripID: c.trip}
			}
			next, err := v.SendAlerts(w.ctx(), alerts)
			if err != nil {
				t.Fatal(err)
			}
			sent, end, err := v.AlertsSince(w.ctx(), 0)
			if err != nil || len(sent) != len(alerts) || sent[len(sent)-1] != (schemas.SentAlert{AlertID: alerts[len(alerts)-1].AlertID, TripID: c.trip}) ||
				next != schemas.Offset(c.records) || end != next+1 {
				t.Errorf("%d alerts, next %d, end %d: %v", len(sent), next, end, err)
			}
		})
	}
}

func TestTopicsAreCreatedOrRefused(t *testing.T) {
	for _, c := range []struct {
		name  string
		setup func(*kadm.Client) error
		want  []string
	}{
		{"fresh", func(*kadm.Client) error { return nil }, nil},
		{"too few", func(a *kadm.Client) error {
			_, err := a.CreateTopic(t.Context(), 2, 1, map[string]*string{"cleanup.policy": kadm.StringPtr("compact")}, schemas.TopicCommits)
			return err
		}, []string{"_taximeter.commits has 2 partitions, and the input topics have 4"}},
		{"forgetful", func(a *kadm.Client) error {
			_, err := a.CreateTopic(t.Context(), 4, 1, map[string]*string{"cleanup.policy": kadm.StringPtr("compact,delete")}, schemas.TopicCommits)
			return err
		}, []string{"_taximeter.commits has cleanup.policy=compact,delete: set it to compact"}},
		{"missing", func(a *kadm.Client) error {
			_, err := a.DeleteTopics(t.Context(), schemas.TopicDLQ, schemas.TopicAlerts)
			return err
		}, []string{"topic corridas.dlq is missing: create it with 4", "topic corridas.alertas is missing"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cluster, err := kfake.NewCluster(kfake.NumBrokers(3), kfake.SeedTopics(tasks, schemas.TopicWindows, schemas.TopicDLQ, schemas.TopicAlerts))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(cluster.Close)
			w := &world{T: t, cluster: cluster}
			k := w.node("ns")
			if err := c.setup(k.admin); err != nil {
				t.Fatal(err)
			}
			for range 2 { // the second finds what the first created
				err = k.EnsureTopics(w.ctx(), tasks)
				if c.want == nil && err != nil {
					t.Error(err)
				}
				for _, want := range c.want {
					if err == nil || !strings.Contains(err.Error(), want) {
						t.Errorf("error %v lacks %q", err, want)
					}
				}
			}
		})
	}
}

func TestOffsetsAreShownToLagTools(t *testing.T) {
	w := newWorld(t)
	if err := w.kafka.CommitOffsets(w.ctx(), "taximeter-ns", ours3, [schemas.NumInputs]schemas.Offset{1, 2, 3}); err != nil {
		t.Fatal(err)
	}
	offsets, err := w.kafka.admin.FetchOffsets(w.ctx(), "taximeter-ns")
	if err != nil {
		t.Fatal(err)
	}
	if o, ok := offsets.Lookup(schemas.TopicPayments, 3); !ok || o.At != 3 {
		t.Errorf("%+v", offsets)
	}
}
