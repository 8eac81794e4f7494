package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"taximeter/actors/ingest"
	"taximeter/checkpoint"
	"taximeter/cluster/admin"
	"taximeter/cluster/node"
	"taximeter/cmd/internal/city"
	"taximeter/cmd/internal/published"
	"taximeter/cmd/internal/world"
	"taximeter/schemas"
	"taximeter/schemas/edge"
)

const waitFor = 20 * time.Second

// town is a node over an embedded broker and a folder, checkpointed by hand.
type town struct {
	*testing.T
	ctx    context.Context
	world  *world.World
	cfg    node.Config
	node   *node.Node
	origin schemas.Millis
	sent   int64
	rounds int
	log    journal
}

// journal is what the node has logged.
type journal struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(b)
}

func (j *journal) count(what string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Count(j.text.String(), what)
}

func newTown(t *testing.T) *town {
	t.Helper()
	data, store := t.TempDir(), t.TempDir() // removed after the node has stopped
	w, err := world.Start(t.Context(), world.Options{Partitions: 2, Log: discard()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*waitFor)
	x := &town{T: t, ctx: ctx, world: w, cfg: node.Default(), origin: schemas.Millis(time.Now().Add(-3 * time.Hour).UnixMilli())}
	t.Cleanup(func() {
		x.stop()
		cancel()
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := w.Catalogue(ctx, city.Tariffs(x.origin.Add(-schemas.Day)), nil); err != nil {
		t.Fatal(err)
	}
	x.cfg.NodeID, x.cfg.Data, x.cfg.Store.Folder = "n1", data, store
	x.cfg.Kafka.Brokers, x.cfg.Registry.URL, x.cfg.Admin.Listen = w.Brokers(), w.RegistryURL(), "127.0.0.1:0"
	x.cfg.Checkpoint.Interval = 5 * time.Minute
	return x
}

func (x *town) start() {
	x.Helper()
	x.startWith(node.Options{})
}

func (x *town) startWith(o node.Options) {
	x.Helper()
	o.AppendTimes, o.Log = ingest.AppendTimesFromRecords, slog.New(slog.NewTextHandler(&x.log, nil))
	n, err := node.Start(x.ctx, x.cfg, o)
	if err != nil {
		x.Fatal(err)
	}
	x.node = n
}

func (x *town) stop() {
	if x.node == nil {
		return
	}
	n := x.node
	x.node = nil
	if err := n.Stop(x.ctx); err != nil {
		x.Error(err)
	}
}

// round drives four rides of ten minutes and a dead letter, and goes on ten minutes.
func (x *town) round() {
	x.Helper()
	x.send(x.rides())
}

// rides are the events of a round.
func (x *town) rides() string {
	at := x.origin.Add(schemas.Millis(x.rounds) * 10 * schemas.Minute)
	var lines strings.Builder
	event := func(topic string, at schemas.Millis, trip, id, more string) {
		fmt.Fprintf(&lines, `{"topic":%q,"appendedAt":%d,"value":{"eventId":%q,"tripId":%q,"ocorridoEm":%d%s}}`+"\n", topic, at+500, id, trip, at, more)
		x.sent++
	}
	for i := range 4 {
		trip := fmt.Sprintf("t-%d-%d", x.rounds, i)
		event(schemas.TopicRides, at, trip, trip+"-s", `,"tipo":"INICIO"`)
		for k := range schemas.Millis(10) {
			event(schemas.TopicTelemetry, at.Add(k*schemas.Minute), trip, fmt.Sprintf("%s-%d", trip, k), fmt.Sprintf(`,"motoristaId":"m","latitude":%f,"longitude":-8.61`, 41.15+0.002*float64(k)))
		}
		event(schemas.TopicRides, at.Add(9*schemas.Minute), trip, trip+"-e", `,"tipo":"TERMINO"`)
	}
	event(schemas.TopicTelemetry, at.Add(9*schemas.Minute), fmt.Sprintf("dead-%d", x.rounds), "d", `,"motoristaId":"m","latitude":0,"longitude":0`)
	x.rounds++
	return lines.String()
}

func (x *town) send(lines string) {
	x.Helper()
	r := edge.NewReader("events", strings.NewReader(lines))
	for {
		line, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = x.world.Send(x.ctx, line, func(err error) { x.Error(err) })
		}
		if err != nil {
			x.Fatal(err)
		}
	}
	if err := x.world.Flush(x.ctx); err != nil {
		x.Fatal(err)
	}
}

// await waits until something holds.
func (x *town) await(what string, holds func() bool) {
	x.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(waitFor); !holds(); <-tick.C {
		if time.Now().After(deadline) {
			if x.node == nil {
				x.Fatalf("%s: not within %s", what, waitFor)
			}
			x.Fatalf("%s: not within %s: %+v", what, waitFor, x.node.Partitions())
		}
	}
}

// until waits for something about all partitions.
func (x *town) until(what string, holds func(admin.PartitionStatus) bool) {
	x.Helper()
	x.await(what, func() bool {
		return !slices.ContainsFunc(x.node.Partitions(), func(p admin.PartitionStatus) bool { return !holds(p) })
	})
}

// consumed waits until the node has given every record sent a verdict, but for those that
// an operator left out.
func (x *town) consumed() {
	x.Helper()
	x.await(fmt.Sprintf("%d records consumed", x.sent), func() bool {
		records, skipped := x.counted()
		return records+skipped == x.sent
	})
}

// counted is how many records have a verdict, and how many offsets were left out.
func (x *town) counted() (records, skipped int64) {
	for _, p := range x.node.Partitions() {
		for verdict, n := range p.Verdicts {
			if verdict != schemas.Own.String() {
				records += n
			}
		}
		for _, n := range p.Skipped {
			skipped += n
		}
	}
	return records, skipped
}

// checkpoint commits and publishes all there is and gives its number.
func (x *town) checkpoint() checkpoint.Number {
	x.Helper()
	x.consumed()
	out, err := x.node.Checkpoint(x.ctx)
	if err != nil || len(out.Absent) > 0 {
		x.Fatal(out.Absent, err)
	}
	x.until("published", func(p admin.PartitionStatus) bool {
		return len(out.Tip.Entries[p.Partition].Unpublished(checkpoint.Number(p.Published))) == 0
	})
	return out.Tip.Number
}

// twoCheckpoints starts a node and lets it drive two rounds, with a checkpoint behind each.
func (x *town) twoCheckpoints() (first, second checkpoint.Number) {
	x.Helper()
	x.start()
	x.round()
	first = x.checkpoint()
	x.round()
	return first, x.checkpoint()
}

// restarted waits until every partition runs under the epoch that a change gave it.
func (x *town) restarted(change func() string) string {
	x.Helper()
	before := map[schemas.Partition]int64{}
	for _, p := range x.node.Partitions() {
		before[p.Partition] = p.Epoch
	}
	got := change()
	x.until("restarted", func(p admin.PartitionStatus) bool { return p.State == "running" && p.Epoch > before[p.Partition]+1 })
	return got
}

func (x *town) results() *published.Results {
	x.Helper()
	r, err := published.Read(x.ctx, x.world.Kafka(), x.world.Registry())
	if err != nil {
		x.Fatal(err)
	}
	return r
}

// once checks that versions of bills and windows and dead letters are there once, and that
// each version changes something.
func (x *town) once(r *published.Results) {
	x.Helper()
	bills := map[schemas.TripID]schemas.Bill{}
	for _, b := range r.Bills {
		last := bills[b.TripID]
		if b.Version != last.Version+1 || (b.Version > 1 && b.Amount == last.Amount && b.DistanceMM == last.DistanceMM) {
			x.Errorf("bill %+v after %+v", b, last)
		}
		bills[b.TripID] = b
	}
	windows := map[published.WindowKey]int{}
	for _, w := range r.Windows {
		k := published.WindowKey{Trip: w.TripID, Start: w.Start}
		if windows[k]++; w.Version != windows[k] {
			x.Errorf("window %+v is number %d", w, windows[k])
		}
	}
	letters := map[string]bool{}
	for _, l := range r.Letters {
		source := l.Headers[schemas.HeaderSource]
		if letters[source] {
			x.Errorf("dead letter of %s twice", source)
		}
		letters[source] = true
	}
}

func (x *town) taximeter(args ...string) string {
	x.Helper()
	return taximeter(x.T, append(args, "--store", x.cfg.Store.Folder)...)
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }
