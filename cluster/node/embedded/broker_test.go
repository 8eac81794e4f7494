package embedded

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/schemas"
)

func start(t *testing.T, o Options) *Broker {
	t.Helper()
	b, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func client(t *testing.T, b *Broker, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(append(opts, kgo.SeedBrokers(b.Seeds()...), kgo.FetchMaxWait(100*time.Millisecond))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

// read returns what partition 0 of a topic holds up to its end, read committed.
func read(t *testing.T, b *Broker, topic string, opts ...kgo.Opt) []*kgo.Record {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	cl := client(t, b, append(opts, kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().AtStart()}}))...)
	ends, err := kadm.NewClient(cl).ListEndOffsets(ctx, topic)
	if err != nil {
		t.Fatal(err)
	}
	end, _ := ends.Lookup(topic, 0)
	var all []*kgo.Record
	for next := int64(0); next < end.Offset; {
		fs := cl.PollFetches(ctx)
		if err := fs.Err(); err != nil {
			t.Fatal(err)
		}
		fs.EachRecord(func(r *kgo.Record) {
			next = r.Offset + 1
			if !r.Attrs.IsControl() {
				all = append(all, r)
			}
		})
	}
	return all
}

func produce(t *testing.T, b *Broker, codec kgo.CompressionCodec, rs ...*kgo.Record) {
	t.Helper()
	if err := client(t, b, kgo.ProducerBatchCompression(codec), kgo.RecordPartitioner(kgo.ManualPartitioner())).ProduceSync(t.Context(), rs...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

func TestTheBrokerStampsItsOwnTime(t *testing.T) {
	old := time.UnixMilli(1_000_000)
	for name, span := range map[string]time.Duration{"forwards": time.Hour, "backwards": -time.Hour} {
		for _, codec := range []kgo.CompressionCodec{kgo.NoCompression(), kgo.SnappyCompression(), kgo.ZstdCompression(), kgo.GzipCompression(), kgo.Lz4Compression()} {
			t.Run(fmt.Sprint(name, codec), func(t *testing.T) {
				b := start(t, Options{Tasks: 2})
				before := time.Now().Truncate(time.Millisecond)
				var rs []*kgo.Record
				for i := range 3 {
					rs = append(rs, &kgo.Record{Topic: schemas.TopicRides, Key: []byte("k"), Timestamp: old.Add(span * time.Duration(i) / 2),
						Value: bytes.Repeat([]byte{'a' + byte(i)}, 300), Headers: []kgo.RecordHeader{{Key: "h", Value: []byte("v")}}})
				}
				produce(t, b, codec, rs...)
				got := read(t, b, schemas.TopicRides)
				if len(got) != len(rs) {
					t.Fatalf("read %d records", len(got))
				}
				for i, r := range got {
					if r.Timestamp.Before(before) || r.Timestamp.After(time.Now()) {
						t.Errorf("record %d: appended at %v, sent after %v", i, r.Timestamp, before)
					}
					if !bytes.Equal(r.Value, bytes.Repeat([]byte{'a' + byte(i)}, 300)) || string(r.Key) != "k" || string(r.Headers[0].Value) != "v" {
						t.Errorf("record %d changed: %s", i, r.Value)
					}
				}
			})
		}
	}
}

func TestFilesMayTellTheAppendTime(t *testing.T) {
	b := start(t, Options{Tasks: 2, AppendTimes: AppendTimesFromRecords})
	want := []int64{1_000_000, 9_000_000, -1}
	for _, ms := range want {
		produce(t, b, kgo.NoCompression(), &kgo.Record{Topic: schemas.TopicRides, Timestamp: time.UnixMilli(ms)})
	}
	for i, r := range read(t, b, schemas.TopicRides) {
		if r.Timestamp.UnixMilli() != want[i] {
			t.Errorf("appended at %d, want %d", r.Timestamp.UnixMilli(), want[i])
		}
	}
}

func TestADamagedBatchStaysDamaged(t *testing.T) {
	s, err := newStamper()
	if err != nil {
		t.Fatal(err)
	}
	for _, batch := range [][]byte{nil, {1, 2, 3}, make([]byte, recordsAt+5)} {
		if got := s.stamp(bytes.Clone(batch), 7); !bytes.Equal(got, batch) {
			t.Errorf("a batch with a wrong checksum was given a right one: %v", got)
		}
	}
}

func TestTopicsOfTheContract(t *testing.T) {
	b := start(t, DefaultOptions())
	have, err := kadm.NewClient(client(t, b)).ListTopicsWithInternal(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{schemas.TopicTelemetry: 24, schemas.TopicDLQ: 24, schemas.TopicTariffs: 1,
		schemas.TopicCommits: 24, schemas.TopicSchemas: 1} {
		if n := len(have[name].Partitions); n != want {
			t.Errorf("%s has %d partitions", name, n)
		}
	}
}

func TestARestartKeepsTheLogAndItsTransactions(t *testing.T) {
	o := Options{Dir: t.TempDir(), Tasks: 2}
	b, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	end := func(cl *kgo.Client, value string, try kgo.TransactionEndTry) {
		t.Helper()
		if err := cl.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		if err := cl.ProduceSync(t.Context(), &kgo.Record{Topic: schemas.TopicRides, Value: []byte(value)}).FirstErr(); err != nil {
			t.Fatal(err)
		}
		if err := cl.EndTransaction(t.Context(), try); err != nil {
			t.Fatal(err)
		}
	}
	tx := client(t, b, kgo.TransactionalID("t"), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	end(tx, "committed", kgo.TryCommit)
	end(tx, "aborted", kgo.TryAbort)
	produce(t, b, kgo.NoCompression(), &kgo.Record{Topic: schemas.TopicRides, Value: []byte("plain")})
	tx.Close()
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}

	o.AppendTimes = AppendTimesFromRecords // a later run may choose otherwise
	b = start(t, o)
	produce(t, b, kgo.NoCompression(), &kgo.Record{Topic: schemas.TopicRides, Value: []byte("after")})
	var got []string
	for _, r := range read(t, b, schemas.TopicRides) {
		got = append(got, fmt.Sprintf("%d=%s", r.Offset, r.Value))
	}
	if want := "0=committed 4=plain 5=after"; strings.Join(got, " ") != want {
		t.Errorf("read %v, want %s", got, want)
	}
}

func TestFaultsAreToldWithTheirMend(t *testing.T) {
	b := start(t, Options{Dir: t.TempDir(), Tasks: 2})
	_, port, _ := strings.Cut(b.Seeds()[0], ":")
	n, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Start(t.Context(), Options{Port: n, Tasks: 2}); !errors.Is(err, syscall.EADDRINUSE) || !strings.Contains(err.Error(), "choose another port") {
		t.Errorf("port in use: %v", err)
	}

	o := Options{Dir: t.TempDir(), Tasks: 2}
	first, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Start(t.Context(), o); err == nil || !strings.Contains(err.Error(), "in use by another process") {
		t.Errorf("folder in use: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	o.Tasks = 3
	if _, err := Start(t.Context(), o); err == nil || !strings.Contains(err.Error(), "2 partitions and 3 are asked for") {
		t.Errorf("other partition count: %v", err)
	}
}
