package ingest

import (
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"taximeter/schemas"
)

func TestARecreatedTopicStops(t *testing.T) {
	w := newWorld(t, nil)
	w.produce(w.client, record(schemas.Rides, 0, "a"))
	if _, err := w.source.CheckTopics(w.ctx()); err != nil {
		t.Fatal(err)
	}
	inbox := w.add(0, [schemas.NumInputs]schemas.Offset{})
	w.next(inbox).Release()
	if _, err := w.admin().DeleteTopics(w.ctx(), schemas.TopicRides); err != nil {
		t.Fatal(err)
	}
	if _, err := w.admin().CreateTopics(w.ctx(), 4, 1, nil, schemas.TopicRides); err != nil {
		t.Fatal(err)
	}
	err := w.fault()
	got, ok := errors.AsType[*TopicRecreatedError](err)
	if !ok || *got != (TopicRecreatedError{schemas.Rides, 0, 1}) {
		t.Fatalf("fault %v", err)
	}
	w.until(0, func(s [schemas.NumInputs]LaneStatus) bool { return errors.Is(s[schemas.Rides].Stopped, got) })
}

// A broker that has just come up may not know a topic's id yet: the topic is still the same.
func TestABrokerThatDoesNotKnowTheTopicYetIsAskedAgain(t *testing.T) {
	w := newWorld(t, nil)
	if _, err := w.source.CheckTopics(w.ctx()); err != nil {
		t.Fatal(err)
	}
	unknown := w.cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Topic: schemas.TopicRides, Err: kerr.UnknownTopicID, Count: 2})
	w.produce(w.client, record(schemas.Rides, 0, "a"))
	inbox := w.add(0, [schemas.NumInputs]schemas.Offset{})
	if b := w.next(inbox); ids(b) != "a" { // fails on any fault told
		t.Errorf("read %s", ids(b))
	}
	if unknown.Hits() == 0 {
		t.Error("a poor test: the broker always knew")
	}
}
