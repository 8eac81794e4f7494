package registry

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/schemas"
)

// rival is another server's writer that has taken its turn and appended a record.
func rival(t *testing.T, kafka []kgo.Opt, v *schemaValue) *kgo.Client {
	t.Helper()
	c, err := kgo.NewClient(append(kafka[:len(kafka):len(kafka)], kgo.TransactionalID("taximeter."+schemas.TopicSchemas))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	if err := c.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	key, value, err := schemaRecord(v)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := produce(t.Context(), c, &kgo.Record{Topic: schemas.TopicSchemas, Key: key, Value: value}); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAWriterWhoseTurnIsOverDecidesAnew(t *testing.T) {
	kafka := broker(t)
	url, _ := start(t, kafka)
	if got := call(t, "POST", url+"/subjects/s/versions", posting(`"int"`)); !strings.Contains(got, `"version":1,"id":1,`) {
		t.Fatal(got)
	}
	other := rival(t, kafka, &schemaValue{Subject: "s", Version: 2, ID: 2, Schema: `"long"`})
	if err := other.EndTransaction(t.Context(), kgo.TryCommit); err != nil {
		t.Fatal(err)
	}
	if got := call(t, "POST", url+"/subjects/s/versions", posting(`"float"`)); !strings.Contains(got, `"version":3,"id":3,`) {
		t.Error(got)
	}
	if got := call(t, "POST", url+"/subjects/s/versions", posting(`"long"`)); !strings.Contains(got, `"version":2,"id":2,`) {
		t.Error(got)
	}
}

func TestAWriterThatDiedHalfWayLeavesNothing(t *testing.T) {
	kafka := broker(t)
	url, _ := start(t, kafka)
	dead := rival(t, kafka, &schemaValue{Subject: "s", Version: 1, ID: 1, Schema: `"long"`})
	if got := call(t, "POST", url+"/subjects/s/versions", posting(`"int"`)); !strings.Contains(got, `"version":1,"id":1,"schema":"\"int\""`) {
		t.Error(got)
	}
	if err := dead.EndTransaction(t.Context(), kgo.TryCommit); err == nil {
		t.Error("the dead writer could still commit")
	}
	if got := call(t, "GET", url+"/schemas/ids/1/schema", ""); got != `200 "int"` {
		t.Error(got)
	}
}

// The turn is not had before everything up to the fence was read, however slow the reader.
func TestATurnIncludesReadingToTheEnd(t *testing.T) {
	kafka := broker(t)
	s := NewServer(ServerConfig{Kafka: kafka})
	log, err := s.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	s.log, s.admin = log, kadm.NewClient(log)
	other := rival(t, kafka, &schemaValue{Subject: "s", Version: 1, ID: 1, Schema: `"long"`})
	if err := other.EndTransaction(t.Context(), kgo.TryCommit); err != nil {
		t.Fatal(err)
	}

	turn := make(chan error, 1)
	go func() { turn <- s.takeTurn(t.Context()) }()
	defer s.dropWriter()
	select { // nobody reads yet: only a turn had too early can end here
	case err := <-turn:
		t.Fatalf("had its turn at offset %d: %v", s.offset(), err)
	case <-time.After(100 * time.Millisecond):
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			if err := s.take(log.PollFetches(ctx)); err != nil && ctx.Err() == nil {
				t.Error(err)
			}
		}
	}()
	err = <-turn
	cancel()
	<-done
	if _, ok := s.state.find("s", `"long"`); err != nil || !ok {
		t.Errorf("had its turn without the rival's schema: %v", err)
	}
}

// A record that the log tells of later than of its commit is waited for, and one that never
// shows is said to be missing.
func TestWhatWasWrittenIsWaitedFor(t *testing.T) {
	s := NewServer(ServerConfig{})
	ask := func(st *state) (*schemaValue, error) {
		if v, ok := st.find("s", `"int"`); ok {
			return st.described("s", v), nil
		}
		return nil, refuse(codeSchemaNotFound, "Schema not found")
	}
	if _, err := shown(t.Context(), s, ask); !notFound(err) {
		t.Errorf("nothing was written, and: %v", err)
	}
	key, value, err := schemaRecord(&schemaValue{Subject: "s", Version: 1, ID: 1, Schema: `"int"`})
	if err != nil {
		t.Fatal(err)
	}
	took := make(chan error, 1)
	go func() {
		var err error
		for _, r := range []*kgo.Record{{Offset: 0, Key: noopKey}, {Offset: 1, Key: key, Value: value}} {
			err = errors.Join(err, s.take(kgo.Fetches{{Topics: []kgo.FetchTopic{{Partitions: []kgo.FetchPartition{{Records: []*kgo.Record{r}}}}}}}))
		}
		took <- err
	}()
	if v, err := shown(t.Context(), s, ask); err != nil || v.ID != 1 {
		t.Errorf("%+v, %v", v, err)
	}
	if err := <-took; err != nil {
		t.Error(err)
	}
}
