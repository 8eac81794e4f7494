//go:build integration

package ingest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/internal/kafkaserver"
	"taximeter/internal/serverstest"
	"taximeter/internal/topics"
	"taximeter/schemas"
)

// kafka starts Kafka itself and returns its address.
func kafka(t *testing.T) string {
	t.Helper()
	at, err := kafkaserver.Addresses(2)
	if err != nil {
		t.Fatal(err)
	}
	k := serverstest.Kafka(t)
	if err := k.Prepare([]kafkaserver.Listener{{Name: "INTERNAL", Address: at[0]}}, at[1], nil); err != nil {
		t.Fatal(err)
	}
	serverstest.Start(t, k)
	return at[0]
}

// Kafka counts of a partition no more than one fetch may bring, and makes a fetch wait that has
// less than it should: after a crash one partition may be all that lags. The embedded broker answers
// such a fetch at once.
func TestOneTopicOfOnePartitionCatchesUpAtTheSpeedOfTheLog(t *testing.T) {
	seed := kafka(t)
	w := &world{T: t, faults: make(chan error, 100)}
	client, err := kgo.NewClient(kgo.SeedBrokers(seed), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchMaxBytes(16<<10), kgo.ProducerBatchCompression(kgo.NoCompression()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for client.Ping(w.ctx()) != nil {
		if t.Context().Err() != nil {
			t.Fatal("Kafka does not answer")
		}
	}
	for _, name := range inputNames {
		if _, err := topics.Ensure(w.ctx(), kadm.NewClient(client), topics.Topic{Name: name, Partitions: 1, Replicas: 1}); err != nil {
			t.Fatal(err)
		}
	}
	const n, fetches = 20_000, 20_000 * 700 / fetchMaxPartitionBytes
	long := strings.Repeat("x", 690)
	for i := range n {
		client.Produce(t.Context(), record(schemas.Telemetry, 0, fmt.Sprintf("%08d%s", i, long)), nil)
	}
	if err := client.Flush(w.ctx()); err != nil {
		t.Fatal(err)
	}

	w.source, err = New(Options{Client: []kgo.Opt{kgo.SeedBrokers(seed)}, Namespace: "ns", Decoder: newDecoderFake(), Registry: &registryFake{},
		OnFault: func(err error) { w.faults <- err }, AppendTimes: AppendTimesFromRecords})
	if err != nil {
		t.Fatal(err)
	}
	defer w.source.Close()
	began := time.Now()
	inbox := w.add(0, [schemas.NumInputs]schemas.Offset{})
	for got := 0; got < n; {
		b := w.next(inbox)
		got += len(b.all())
		b.Release()
	}
	took := time.Since(began)
	t.Logf("%d records in %v", n, took)
	if took > fetches*fetchMaxWait/2 {
		t.Errorf("%d records took %v: each of some %d fetches has waited", n, took, fetches)
	}
}
