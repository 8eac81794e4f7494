package ingest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/schemas"
)

func TestACatalogueIsReadToItsEndAndFollowed(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, schemas.TopicTariffs), kfake.SeedTopics(2, schemas.TopicRules))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	w := &world{T: t, cluster: cluster}
	plain, tx := w.newClient(), w.newClient(kgo.TransactionalID("tx"))
	w.produce(plain, &kgo.Record{Topic: schemas.TopicTariffs, Key: []byte("a"), Value: []byte("1")})
	w.transaction(tx, kgo.TryCommit, &kgo.Record{Topic: schemas.TopicTariffs, Key: []byte("b"), Value: []byte("2")}) // ends in a marker

	follow := func(ctx context.Context, topic string) (chan string, chan error) {
		seen, ended := make(chan string, 100), make(chan error, 1)
		c := Catalogue{Client: []kgo.Opt{kgo.SeedBrokers(cluster.ListenAddrs()...)}, Topic: topic, CaughtUp: func() { seen <- "caught up" }, Each: func(e Entry) error {
			switch {
			case string(e.Key) == "stop":
				return errBad
			case e.Value == nil:
				seen <- fmt.Sprintf("%d %s deleted", e.Offset, e.Key)
			default:
				seen <- fmt.Sprintf("%d %s=%s", e.Offset, e.Key, e.Value)
			}
			return nil
		}}
		go func() { ended <- c.Follow(ctx) }()
		return seen, ended
	}
	seen, ended := follow(t.Context(), schemas.TopicTariffs)
	expect := func(want string) {
		t.Helper()
		select {
		case got := <-seen:
			if got != want {
				t.Fatalf("saw %s, want %s", got, want)
			}
		case err := <-ended:
			t.Fatalf("ended: %v", err)
		case <-time.After(deadline):
			t.Fatalf("%s did not come", want)
		}
	}
	expect("0 a=1")
	expect("1 b=2")
	expect("caught up")
	w.produce(plain, &kgo.Record{Topic: schemas.TopicTariffs, Key: []byte("a")}, &kgo.Record{Topic: schemas.TopicTariffs, Key: []byte("stop"), Value: []byte("3")})
	expect("3 a deleted")
	if err := <-ended; !errors.Is(err, errBad) {
		t.Errorf("ended with %v", err)
	}

	if _, ended = follow(t.Context(), schemas.TopicRules); (<-ended).Error() != "follow corridas.regras: the topic has 2 partitions and must have 1: create it with one partition, cleanup.policy=compact" {
		t.Error("two partitions were taken")
	}
	ctx, cancel := context.WithCancel(t.Context())
	seen, ended = follow(ctx, schemas.TopicTariffs)
	expect("0 a=1")
	cancel()
	if err := <-ended; err == nil {
		t.Error("ended without a reason")
	}
}
