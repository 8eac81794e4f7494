package main

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/actors/ingest"
	"taximeter/checkpoint"
	"taximeter/cluster/admin"
	"taximeter/cluster/node"
	"taximeter/schemas"
)

func (x *town) kafka() *kadm.Client {
	x.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(x.world.Brokers()...))
	if err != nil {
		x.Fatal(err)
	}
	x.Cleanup(client.Close)
	return kadm.NewClient(client)
}

func (x *town) setOffset(args ...string) string {
	x.Helper()
	return x.taximeter(append([]string{"partition", "set-offset", "--brokers", strings.Join(x.world.Brokers(), ","), "--yes", "--reason", "a drill"}, args...)...)
}

func (x *town) metrics() string {
	x.Helper()
	answer, err := http.Get(x.node.AdminURL() + "/metrics")
	if err != nil {
		x.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		x.Fatal(err)
	}
	return string(text)
}

// refused is why a node does not start.
func (x *town) refused() string {
	x.Helper()
	n, err := node.Start(x.ctx, x.cfg, node.Options{AppendTimes: ingest.AppendTimesFromRecords, Log: discard()})
	if err == nil {
		x.node = n
		x.Fatal("a node starts")
	}
	return err.Error()
}

// Retention has deleted what a stopped node would read next: that input stands still with
// the exact gap and an alarm, everything else goes on, and set-offset mends it.
func TestAPartitionThatRetentionPassedGoesOnByAnOperatorsWord(t *testing.T) {
	x := newTown(t)
	x.start()
	x.round()
	x.checkpoint()
	x.stop()
	x.round()
	x.round()
	tip, err := checkpoint.NewChain(must(x.cfg.Store.Open()), "taximeter").Tip(x.ctx)
	if err != nil {
		t.Fatal(err)
	}
	stands := tip.Entries[0].Next[schemas.Telemetry]
	const gap = 7
	gone := kadm.Offsets{}
	gone.Add(kadm.Offset{Topic: schemas.TopicTelemetry, Partition: 0, At: int64(stands + gap)})
	if _, err := x.kafka().DeleteRecords(x.ctx, gone); err != nil {
		t.Fatal(err)
	}
	x.start()
	x.await("the alarm", func() bool { return x.node.Partitions()[0].Stopped[schemas.Telemetry] == "fora_do_intervalo" })
	if p := x.node.Partitions()[0]; p.Missing[schemas.Telemetry] != gap || p.Waiting[schemas.Telemetry] == "" || p.Stopped[schemas.Rides] != "" {
		t.Errorf("%+v", p)
	}
	x.await("the other partition", func() bool {
		p := x.node.Partitions()[1]
		return p.EndOffset[0] >= 0 && p.NextOffset == p.EndOffset
	})
	if err := x.node.Ready(); err == nil || !strings.Contains(err.Error(), "7 records are missing") {
		t.Errorf("ready: %v", err)
	}
	for _, want := range []string{`taximeter_input_stopped{partition="0",reason="fora_do_intervalo",topic="corridas.telemetria"} 1`,
		`taximeter_missing_records{partition="0",topic="corridas.telemetria"} 7`, "taximeter_ready 0"} {
		if !strings.Contains(x.metrics(), want) {
			t.Errorf("no metric %s", want)
		}
	}
	if x.log.count("input stands still") == 0 {
		t.Error("nothing in the log")
	}
	if got := x.setOffset("--partition", "0", "--topic", "corridas.telemetria", "--offset", "0"); !strings.Contains(got, "out of range: the log of corridas.telemetria holds [") {
		t.Error(got)
	}
	got := x.setOffset("--partition", "0", "--topic", "corridas.telemetria", "--offset", "earliest")
	if !strings.HasSuffix(got, "exit 0\n") {
		t.Fatal(got)
	}
	x.checkpoint() // verdicts and skipped sum to what was sent
	if p := x.node.Partitions()[0]; p.Skipped[schemas.Telemetry] != gap || p.Stopped[schemas.Telemetry] != "" {
		t.Errorf("%+v", p)
	}
	x.await("ready again", func() bool { return x.node.Ready() == nil })
	x.stop()
	x.start()
	x.round()
	x.checkpoint()
	if p := x.node.Partitions()[0]; p.Skipped[schemas.Telemetry] != gap {
		t.Errorf("after a restart: %+v", p)
	}
	x.once(x.results())
	if got := x.taximeter("checkpoint", "verify"); !strings.Contains(got, "is whole") {
		t.Error(got)
	}
	if got := x.taximeter("checkpoint", "list"); !strings.Contains(got, "a drill") {
		t.Error(got)
	}
}

// What a running node has read and not yet sealed is void once its run is revoked, and the log
// may hold it no more: the command waits for the checkpoint that holds it.
func TestSetOffsetLeavesOutNothingThatARunningNodeHasRead(t *testing.T) {
	x := newTown(t)
	x.start()
	x.round()
	x.checkpoint()
	x.round()
	x.consumed()
	const gap = 7
	x.lose(gap)
	x.await("the alarm", func() bool { return x.node.Partitions()[0].Missing[schemas.Telemetry] == gap })

	moved := make(chan string, 1)
	go func() {
		moved <- x.setOffset("--partition", "0", "--topic", "corridas.telemetria", "--offset", "earliest")
	}()
	select {
	case got := <-moved:
		t.Fatalf("no checkpoint holds what was read: %s", got)
	case <-time.After(6 * time.Second):
	}
	if _, err := x.node.Checkpoint(x.ctx); err != nil {
		t.Fatal(err)
	}
	if got := <-moved; !strings.HasSuffix(got, "exit 0\n") || !strings.Contains(got, "waiting for a checkpoint") {
		t.Fatal(got)
	}
	x.sent += gap
	x.checkpoint()
	if p := x.node.Partitions()[0]; p.Skipped[schemas.Telemetry] != gap || p.Stopped[schemas.Telemetry] != "" {
		t.Errorf("%+v", p)
	}
	x.once(x.results())
}

// lose lets n records of telemetry in partition 0 be deleted before the node can have read them.
func (x *town) lose(n int) {
	x.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(x.world.Brokers()...), kgo.TransactionalID("lost"), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		x.Fatal(err)
	}
	defer client.Close()
	if err := client.BeginTransaction(); err != nil {
		x.Fatal(err)
	}
	last := int64(0)
	for range n {
		r := &kgo.Record{Topic: schemas.TopicTelemetry, Value: []byte("lost")}
		if err := client.ProduceSync(x.ctx, r).FirstErr(); err != nil {
			x.Fatal(err)
		}
		last = r.Offset
	}
	gone := kadm.Offsets{}
	gone.Add(kadm.Offset{Topic: schemas.TopicTelemetry, At: last + 1})
	if _, err := x.kafka().DeleteRecords(x.ctx, gone); err != nil {
		x.Fatal(err)
	}
	if err := client.EndTransaction(x.ctx, kgo.TryCommit); err != nil {
		x.Fatal(err)
	}
}

// A topic that was deleted and created again is noticed; its partitions stand still until
// an operator adopts it.
func TestARecreatedTopicIsAdoptedByAnOperatorsWord(t *testing.T) {
	x := newTown(t)
	x.start()
	x.round()
	x.checkpoint()
	old := x.results()
	kafka := x.kafka()
	if _, err := kafka.DeleteTopics(x.ctx, schemas.TopicRides); err != nil {
		t.Fatal(err)
	}
	if _, err := kafka.CreateTopics(x.ctx, 2, 1, nil, schemas.TopicRides); err != nil {
		t.Fatal(err)
	}
	x.until("noticed", func(p admin.PartitionStatus) bool { return p.Stopped[schemas.Rides] == "topico_recriado" })
	x.stop()
	if why := x.refused(); !strings.Contains(why, "was deleted and created again") {
		t.Error(why)
	}
	if got := x.setOffset("--partition", "0", "--topic", schemas.TopicRides, "--offset", "earliest"); !strings.Contains(got, "give --partition all") {
		t.Error(got)
	}
	if got := x.setOffset("--partition", "all", "--topic", schemas.TopicRides, "--offset", "earliest"); !strings.HasSuffix(got, "exit 0\n") {
		t.Fatal(got)
	}
	x.start()
	// By another producer: one that knew the old topic does not find the new one.
	file := filepath.Join(t.TempDir(), "round.jsonl")
	if err := os.WriteFile(file, []byte(x.rides()), 0o666); err != nil {
		t.Fatal(err)
	}
	if got := taximeter(t, "produce", file, "--brokers", x.world.Brokers()[0], "--registry", x.world.RegistryURL()); !strings.HasSuffix(got, "exit 0\n") {
		t.Fatal(got)
	}
	x.await("the new topic is read", func() bool { // the rides of the first round count as to be read again
		records, skipped := x.counted()
		return records == x.sent && skipped == -8
	})
	if _, err := x.node.Checkpoint(x.ctx); err != nil {
		t.Fatal(err)
	}
	if got := x.taximeter("checkpoint", "verify"); !strings.Contains(got, "is whole") {
		t.Error(got)
	}
	x.stop()
	now := x.results()
	x.once(now)
	if len(now.Bills) <= len(old.Bills) {
		t.Errorf("%d bills before, %d after", len(old.Bills), len(now.Bills))
	}
}

// More partitions of an input topic: nothing more is read, the node says so and does not
// start again over it.
func TestAChangedPartitionCountStopsTheReading(t *testing.T) {
	x := newTown(t)
	x.start()
	x.round()
	x.checkpoint()
	if _, err := x.kafka().UpdatePartitions(x.ctx, 3, schemas.TopicPayments); err != nil {
		t.Fatal(err)
	}
	x.until("stopped", func(p admin.PartitionStatus) bool { return p.State == "stopped" })
	if err := x.node.Ready(); err == nil || !strings.Contains(err.Error(), "has 3 partitions now, not 2") {
		t.Errorf("ready: %v", err)
	}
	x.stop()
	if why := x.refused(); !strings.Contains(why, "partitions") {
		t.Error(why)
	}
	if got := x.setOffset("--partition", "all", "--topic", schemas.TopicPayments, "--offset", "earliest"); !strings.Contains(got, "no offset can mend that") {
		t.Error(got)
	}
}

// Group offsets are shown to lag tools; a foreign member that is active in the group costs
// one warning and nothing else.
func TestGroupOffsetsAreACourtesy(t *testing.T) {
	x := newTown(t)
	x.cfg.Checkpoint.Interval = time.Second
	x.start()
	x.round()
	x.consumed()
	kafka := x.kafka()
	const group = "taximeter-taximeter"
	shows := func() bool {
		offsets, err := kafka.FetchOffsets(x.ctx, group)
		if err != nil {
			return false
		}
		at := int64(0)
		for p := range int32(2) {
			o, _ := offsets.Lookup(schemas.TopicTelemetry, p)
			at += max(o.At, 0)
		}
		return at == 41*int64(x.rounds)
	}
	x.await("lag tools see it", shows)

	foreign, err := kgo.NewClient(kgo.SeedBrokers(x.world.Brokers()...), kgo.ConsumerGroup(group), kgo.ConsumeTopics(schemas.TopicTelemetry), kgo.DisableAutoCommit())
	if err != nil {
		t.Fatal(err)
	}
	polling, stop := context.WithCancel(x.ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for polling.Err() == nil {
			foreign.PollFetches(polling)
		}
	}()
	x.await("the foreign member", func() bool {
		g, err := kafka.DescribeGroups(x.ctx, group)
		return err == nil && len(g[group].Members) == 1 && g[group].State == "Stable"
	})
	x.round()
	x.consumed()
	x.await("the warning", func() bool { return x.log.count("lag tools see old offsets") == 1 })
	x.round()
	x.checkpoint()
	stop()
	<-done
	foreign.Close()
	x.await("lag tools see it again", shows)
	if n := x.log.count("lag tools see old offsets"); n != 1 {
		t.Errorf("%d warnings", n)
	}
	x.once(x.results())
}
