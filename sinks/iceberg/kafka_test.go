package iceberg

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/schemas"
	"taximeter/schemas/codec"
)

// registered is a registry that knows the contracts.
type registered map[int]string

func (r registered) SchemaByID(_ context.Context, id int) (string, error) {
	if text, ok := r[id]; ok {
		return text, nil
	}
	return "", errors.New("no such schema")
}

// broker is a Kafka in process with the input topics, and a transactional writer.
type broker struct {
	*testing.T
	cluster *kfake.Cluster
	writer  *kgo.Client
	source  *Kafka
}

func newBroker(t *testing.T) *broker {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(2, schemas.TopicTelemetry, schemas.TopicRides, schemas.TopicPayments))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	writer, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.TransactionalID("w"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(writer.Close)
	source, err := NewKafka(cluster.ListenAddrs(), registered(newMemoryLog().schemas))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(source.Close)
	return &broker{t, cluster, writer, source}
}

func (b *broker) ctx() context.Context {
	ctx, cancel := context.WithTimeout(b.Context(), 30*time.Second)
	b.Cleanup(cancel)
	return ctx
}

// transaction writes n positions; a marker takes an offset behind them.
func (b *broker) transaction(p int32, n int, end kgo.TransactionEndTry) {
	b.Helper()
	if err := b.writer.BeginTransaction(); err != nil {
		b.Fatal(err)
	}
	for range n {
		value, err := codec.AppendTelemetry(nil, idTelemetry, &schemas.TelemetryRecord{EventID: "e", TripID: "a", At: noon, Lat: 1, Lon: 1})
		if err != nil {
			b.Fatal(err)
		}
		if err := b.writer.ProduceSync(b.ctx(), &kgo.Record{Topic: schemas.TopicTelemetry, Partition: p, Value: value}).FirstErr(); err != nil {
			b.Fatal(err)
		}
	}
	if err := b.writer.EndTransaction(b.ctx(), end); err != nil {
		b.Fatal(err)
	}
}

func (b *broker) read(ranges ...Range) (offsets [2][]schemas.Offset, err error) {
	err = b.source.Read(b.ctx(), ranges, func(r *Record) error {
		offsets[r.Partition] = append(offsets[r.Partition], r.Offset)
		return nil
	})
	return offsets, err
}

func TestKafkaReadsJustTheRanges(t *testing.T) {
	b := newBroker(t)
	b.transaction(0, 3, kgo.TryCommit) // 0-2, marker 3
	b.transaction(0, 2, kgo.TryAbort)  // 4-5, marker 6
	b.transaction(0, 2, kgo.TryCommit) // 7-8, marker 9
	b.transaction(1, 4, kgo.TryCommit)
	got, err := b.read(Range{schemas.Telemetry, 0, 1, 8}, Range{schemas.Telemetry, 1, 2, 3})
	want := [2][]schemas.Offset{{1, 2, 7}, {2}}
	if err != nil || !equal(got, want) {
		t.Fatal(got, err)
	}
	if _, err := b.read(); err != nil {
		t.Fatal("nothing to read: ", err)
	}
	// The record at 4 was aborted: who tells of it is wrong.
	if _, err := b.read(Range{schemas.Telemetry, 0, 0, 5}); err == nil || !strings.Contains(err.Error(), "the record at offset 4 did not come") {
		t.Fatal(err)
	}
}

func equal(a, b [2][]schemas.Offset) bool {
	for i := range a {
		if len(a[i]) != len(b[i]) {
			return false
		}
		for j := range a[i] {
			if a[i][j] != b[i][j] {
				return false
			}
		}
	}
	return true
}

func TestKafkaBeyondItsBeginning(t *testing.T) {
	b := newBroker(t)
	b.transaction(0, 5, kgo.TryCommit)
	offsets := kadm.Offsets{}
	offsets.AddOffset(schemas.TopicTelemetry, 0, 3, -1)
	if _, err := kadm.NewClient(b.writer).DeleteRecords(b.ctx(), offsets); err != nil {
		t.Fatal(err)
	}
	starts, err := b.source.Starts(b.ctx())
	if err != nil || starts[schemas.Telemetry][0] != 3 || starts[schemas.Telemetry][1] != 0 || starts[schemas.Payments][1] != 0 {
		t.Fatal(starts, err)
	}
	if _, err := b.read(Range{schemas.Telemetry, 0, 1, 5}); !errors.Is(err, kerr.OffsetOutOfRange) {
		t.Fatal(err)
	}
}

func TestLakeFromKafka(t *testing.T) {
	w := newWorld(t)
	b := newBroker(t)
	b.transaction(0, 3, kgo.TryCommit)
	b.transaction(0, 2, kgo.TryAbort)
	b.transaction(0, 1, kgo.TryCommit)
	l, err := Open(t.Context(), w.cfg, "ns", b.source, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}()
	commit(t, l, 2, item(0, 2, w.told(lane{schemas.Telemetry, 0}, schemas.VerdictRun{Verdict: schemas.Counted, Length: 1}, schemas.VerdictRun{Verdict: schemas.Duplicate, Length: 2},
		schemas.VerdictRun{Verdict: schemas.NoRecord, Length: 4}, schemas.VerdictRun{Verdict: schemas.Late, Length: 1}, schemas.VerdictRun{Verdict: schemas.NoRecord, Length: 1})))
	wantRows(t, l, TableTelemetry, []string{columnOffset, "veredito"}, "0 contado", "7 atrasado")
	wantRows(t, l, TableVerdicts, []string{columnFirst, columnNext, "contado", "atrasado", "duplicado", "controle"}, "0 9 1 1 2 5")
}
