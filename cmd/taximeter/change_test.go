package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"

	"taximeter/actors/ingest"
	"taximeter/checkpoint"
	"taximeter/cluster/admin"
	"taximeter/cluster/node"
	"taximeter/cmd/internal/published"
	"taximeter/schemas"
	"taximeter/sinks"
)

// tripwire is a store that does something once, when a manifest has entered the chain through it.
type tripwire struct {
	checkpoint.Store
	once sync.Once
	then func()
}

func (w *tripwire) PutIfAbsent(ctx context.Context, key string, body io.ReadSeeker) (checkpoint.Written, error) {
	put, err := w.Store.PutIfAbsent(ctx, key, body)
	if err == nil && put.Stored && strings.Contains(key, "/manifest/") {
		w.once.Do(w.then)
	}
	return put, err
}

// kept checks that no bill has changed and none is there twice.
func (x *town) kept(before *published.Results) {
	x.Helper()
	after := x.results()
	x.once(after)
	finals := after.FinalBills()
	for id, b := range before.FinalBills() {
		if f := finals[id]; f != b {
			x.Errorf("bill of %s was %+v, is %+v", id, b, f)
		}
	}
}

// An operator takes the namespace back just when a node that starts has been given its runs:
// they are revoked before they have begun, which is no fault of theirs.
func TestANodeStartsThroughARestore(t *testing.T) {
	x := newTown(t)
	back, _ := x.twoCheckpoints()
	x.stop()
	before := x.results()
	x.startWith(node.Options{Store: func(s checkpoint.Store) checkpoint.Store {
		return &tripwire{Store: s, then: func() {
			if got := x.restore(back, "--reason", "r"); !strings.HasSuffix(got, "exit 0\n") {
				t.Error(got)
			}
		}}
	}})
	x.round()
	x.checkpoint()
	x.kept(before)
	if n := x.log.count("level=ERROR"); n > 0 {
		t.Errorf("%d errors in the log:\n%s", n, &x.log.text)
	}
}

// A node that is stopped at the instant of a restore ends as any other.
func TestANodeStopsRightBehindARestore(t *testing.T) {
	x := newTown(t)
	back, _ := x.twoCheckpoints()
	before := x.results()
	x.round()
	x.consumed()
	if got := x.restore(back, "--reason", "r"); !strings.HasSuffix(got, "exit 0\n") {
		t.Error(got)
	}
	x.stop() // without an error
	x.start()
	x.checkpoint()
	x.kept(before)
}

// A node that knows the damaged tip is revoked by who passes over it, and begins anew.
func TestADamagedTipIsPassedOverUnderARunningNode(t *testing.T) {
	x := newTown(t)
	x.start()
	x.round()
	x.checkpoint()
	x.round()
	back := x.checkpoint()
	x.round()
	x.checkpoint()
	before := x.results()
	ns := checkpoint.Namespace("taximeter")
	newest := must(checkpoint.NewChain(must(x.cfg.Store.Open()), ns).Newest(x.ctx))
	path := filepath.Join(x.cfg.Store.Folder, filepath.FromSlash(ns.Manifest(newest)))
	bad := must(os.ReadFile(path))
	bad[len(bad)/2] ^= 1
	if err := os.WriteFile(path, bad, 0o666); err != nil {
		t.Fatal(err)
	}
	got := x.restarted(func() string { return x.restore(back, "--pass-over-damaged-tip", "--reason", "bit rot") })
	if !strings.HasSuffix(got, "exit 0\n") {
		t.Fatal(got)
	}
	x.round()
	x.checkpoint()
	x.kept(before)
}

// What a restore would read again must still be there: else what the newest checkpoint has
// counted is lost, and only an operator may say so.
func TestARestoreIsRefusedWhereTheTopicsNoLongerHoldWhatItReadsAgain(t *testing.T) {
	x := newTown(t)
	back, tip := x.twoCheckpoints()
	stands := must(checkpoint.NewChain(must(x.cfg.Store.Open()), "taximeter").Tip(x.ctx)).Entries[0].Next[schemas.Telemetry]
	gone := kadm.Offsets{}
	gone.Add(kadm.Offset{Topic: schemas.TopicTelemetry, Partition: 0, At: int64(stands)})
	if _, err := x.kafka().DeleteRecords(x.ctx, gone); err != nil {
		t.Fatal(err)
	}
	if got := x.restore(back, "--reason", "r"); !strings.Contains(got, "corridas.telemetria/0: offsets [") || !strings.Contains(got, "--accept-gap") || !strings.HasSuffix(got, "exit 1\n") {
		t.Error(got)
	}
	if now := must(checkpoint.NewChain(must(x.cfg.Store.Open()), "taximeter").Tip(x.ctx)); now.Number != tip {
		t.Errorf("refused, and the chain went from %d to %d", tip, now.Number)
	}
	// To the newest nothing is read again that it has counted.
	if got := x.restarted(func() string { return x.restore(tip, "--reason", "r") }); !strings.HasSuffix(got, "exit 0\n") {
		t.Error(got)
	}
	x.checkpoint()
	// Where no broker answers it is not known, which is said; the input then tells the gap.
	if got := x.taximeter("checkpoint", "restore", fmt.Sprint(back), "--brokers", "127.0.0.1:1", "--yes", "--reason", "r"); !strings.Contains(got, "still hold what is read again is not known") || !strings.HasSuffix(got, "exit 0\n") {
		t.Fatal(got)
	}
	stopped := func() bool {
		return slices.ContainsFunc(x.node.Partitions(), func(p admin.PartitionStatus) bool { return p.Stopped[schemas.Telemetry] == "fora_do_intervalo" })
	}
	x.await("the gap is told", stopped)
	// As long as no gap was accepted, going forward again brings all of it back.
	if got := x.restarted(func() string { return x.restore(tip, "--reason", "r") }); !strings.HasSuffix(got, "exit 0\n") {
		t.Error(got)
	}
	x.checkpoint()
	if got := x.restore(back, "--accept-gap", "--reason", "r"); !strings.HasSuffix(got, "exit 0\n") {
		t.Fatal(got)
	}
	x.await("the gap is told", stopped)
}

// What nodes delete of a checkpoint because it retires while somebody reads it is no damage.
func TestACheckpointThatRetiresWhileItIsReadIsNotCalledDamaged(t *testing.T) {
	x := newTown(t)
	x.cfg.Checkpoint.Retain = 2
	x.start()
	x.round()
	x.checkpoint()
	o := chainFlags{folder: x.cfg.Store.Folder}
	reader, old, err := o.read(x.ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 6 { // rows are written anew, and files go
		x.round()
		x.checkpoint()
	}
	if deleted, err := checkpoint.NewChain(must(x.cfg.Store.Open()), "taximeter").Collect(x.ctx); err != nil || deleted == 0 {
		t.Fatal(deleted, err)
	}
	c := newCheckpointVerify()
	c.SetErr(io.Discard)
	if _, err := verify(x.ctx, c, reader, old); err == nil || !strings.Contains(err.Error(), "retired while it was read") {
		t.Errorf("said %v", err)
	}
}

// gone is a database that was taken down for good.
type gone struct{ sinks.Sink }

func (gone) Progress(context.Context) (sinks.Progress, error) {
	return sinks.Progress{}, errors.New("no such host")
}
func (gone) Close() error { return nil }

// Outboxes that wait for a sink hold up the seals in the end, and bills with them. Who lets the
// namespace forget it must not have to restart nodes first.
func TestAForgottenSinkHoldsUpNothingMore(t *testing.T) {
	x := newTown(t)
	x.cfg.Checkpoint.MaxPending = 2
	x.startWith(node.Options{Tables: []sinks.Configured{{Name: "analytics", Wants: sinks.Wants{Trips: true},
		Open: func(context.Context) (sinks.Sink, error) { return gone{}, nil }}}})
	full := func() bool {
		out, err := x.node.Checkpoint(x.ctx)
		return err == nil && len(out.Absent) > 0
	}
	for !full() {
		x.round()
		x.consumed()
	}
	if got := x.taximeter("checkpoint", "forget-sink", "lake", "--reason", "r", "--yes"); !strings.Contains(got, "feeds no sink \"lake\"; it feeds [analytics]") {
		t.Error(got)
	}
	if got := x.taximeter("checkpoint", "forget-sink", "analytics", "--reason", "r", "--yes"); !strings.Contains(got, "nothing waits for analytics") {
		t.Fatal(got)
	}
	x.await("seals again", func() bool {
		out, err := x.node.Checkpoint(x.ctx)
		return err == nil && len(out.Absent) == 0
	})
	x.checkpoint()
	x.await("it is told", func() bool { return x.log.count("take it out of this node's configuration") == 1 })
	x.stop()
	x.start() // without it
	x.round()
	x.checkpoint()
	x.once(x.results())
}

// A checkpoint in which a replay has ended event time is none to live on from: whatever came
// would be too late for ever. Taken there by mistake, a live node stands still and says so.
func TestALiveNodeDoesNotRunWhereAReplayHasEndedTime(t *testing.T) {
	x := newTown(t)
	x.start()
	x.round()
	live := x.checkpoint()
	x.stop()
	x.startWith(node.Options{Mode: node.Replay})
	if err := x.node.Done(x.ctx); err != nil {
		t.Fatal(err)
	}
	x.stop()
	ended := must(checkpoint.NewChain(must(x.cfg.Store.Open()), "taximeter").Tip(x.ctx)).Number
	if got := x.restore(live, "--reason", "live again"); !strings.HasSuffix(got, "exit 0\n") {
		t.Fatal(got)
	}
	x.start()
	x.checkpoint()
	if got := x.restore(ended, "--reason", "by mistake"); !strings.HasSuffix(got, "exit 0\n") {
		t.Fatal(got)
	}
	x.await("it says so", func() bool { return x.log.count("has ended event time in partition") >= 2 })
	x.round()
	if n := atWork(x.node); n > 0 {
		t.Errorf("%d partitions run", n)
	}
	if got := x.restarted(func() string { return x.restore(live, "--reason", "back") }); !strings.HasSuffix(got, "exit 0\n") {
		t.Fatal(got)
	}
	x.checkpoint()
	if v := x.verdicts(); v["dlq:alem_do_horizonte"] > 0 {
		t.Errorf("%v", v)
	}
	x.once(x.results())
}

// Another process takes the place of a node that starts: it ends, and says why.
func TestAStartThatIsReplacedEnds(t *testing.T) {
	x := newTown(t)
	x.start()
	x.round()
	x.checkpoint()
	x.stop()
	other := x.cfg
	other.Data = t.TempDir()
	o := node.Options{AppendTimes: ingest.AppendTimesFromRecords, Log: slog.New(slog.NewTextHandler(&x.log, nil)), Store: func(s checkpoint.Store) checkpoint.Store {
		return &tripwire{Store: s, then: func() {
			var err error
			if x.node, err = node.Start(x.ctx, other, node.Options{AppendTimes: ingest.AppendTimesFromRecords, Log: discard()}); err != nil {
				t.Error(err)
			}
		}}
	}}
	ctx, cancel := context.WithTimeout(x.ctx, waitFor)
	defer cancel()
	if _, err := node.Start(ctx, x.cfg, o); !errors.Is(err, node.ErrReplaced) {
		t.Errorf("the start ended with: %v", err)
	}
}
