package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
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
	"taximeter/cmd/internal/operator"
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
	n, err := node.Start(x.ctx, x.cfg, node.Options{AppendTimes: ingest.AppendTimesFromRecords, Log: slog.New(slog.NewTextHandler(&x.log, nil))})
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
	r, err := published.Read(x.ctx, x.world.Brokers(), x.world.Registry())
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

// Taken back four checkpoints while it runs, a node goes on from there: nothing is doubled,
// nothing is missing, versions continue.
func TestARunningNodeIsTakenBackFourCheckpoints(t *testing.T) {
	x := newTown(t)
	x.start()
	var numbers []checkpoint.Number
	for range 6 {
		x.round()
		numbers = append(numbers, x.checkpoint())
	}
	before := x.results()
	x.once(before)
	if len(before.Bills) == 0 || len(before.Windows) == 0 || len(before.Letters) == 0 {
		t.Fatalf("a poor test: %d bills, %d windows, %d letters", len(before.Bills), len(before.Windows), len(before.Letters))
	}
	back := numbers[len(numbers)-5]
	got := x.restarted(func() string {
		return x.taximeter("checkpoint", "restore", fmt.Sprint(back), "--reason", "a drill", "--yes")
	})
	if !strings.Contains(got, fmt.Sprintf("lineage 2, stands where %d stood\n", back)) || !strings.HasSuffix(got, "exit 0\n") {
		t.Fatal(got)
	}
	// What is said again is only what was not said.
	x.checkpoint()
	after := x.results()
	if len(after.Bills) != len(before.Bills) || len(after.Windows) != len(before.Windows) || len(after.Letters) != len(before.Letters) {
		t.Errorf("bills %d to %d, windows %d to %d, letters %d to %d", len(before.Bills), len(after.Bills), len(before.Windows), len(after.Windows), len(before.Letters), len(after.Letters))
	}
	// A late point changes a bill that the line left behind had published.
	trip := "t-4-0"
	at := x.origin.Add(43 * schemas.Minute)
	x.send(fmt.Sprintf(`{"topic":"corridas.telemetria","appendedAt":%d,"value":{"eventId":"late","tripId":%q,"ocorridoEm":%d,"motoristaId":"m","latitude":41.158,"longitude":-8.615}}`+"\n",
		x.origin.Add(80*schemas.Minute), trip, at+30_000))
	x.sent++
	x.round()
	x.checkpoint()
	x.round()
	x.checkpoint()
	final := x.results()
	x.once(final)
	if b := final.FinalBills()[schemas.TripID(trip)]; b.Version != 2 || !b.Rectification {
		t.Errorf("the late point's bill: %+v", b)
	}
	for id, b := range before.FinalBills() {
		if f := final.FinalBills()[id]; string(id) != trip && f != b {
			t.Errorf("bill of %s was %+v, is %+v", id, b, f)
		}
	}
	// Restarted on the way back, and taken forward again to the line left behind.
	got = x.restarted(func() string {
		return x.taximeter("checkpoint", "restore", fmt.Sprint(numbers[5]), "--reason", "forward again", "--yes")
	})
	if !strings.Contains(got, "lineage 3") {
		t.Fatal(got)
	}
	x.stop()
	x.start()
	x.round()
	x.checkpoint()
	last := x.results()
	x.once(last)
	for id, b := range final.FinalBills() {
		if f := last.FinalBills()[id]; f != b {
			t.Errorf("bill of %s was %+v, is %+v", id, b, f)
		}
	}
	list := x.taximeter("checkpoint", "list")
	for _, want := range []string{"a drill", "forward again", "restore"} {
		if !strings.Contains(list, want) {
			t.Errorf("the list does not tell %q:\n%s", want, list)
		}
	}
}

func TestVerifyNamesTheDamagedFile(t *testing.T) {
	x := newTown(t)
	x.start()
	x.round()
	x.round()
	x.checkpoint()
	x.stop()
	got := x.taximeter("checkpoint", "verify")
	if !strings.Contains(got, "is whole") || !strings.HasSuffix(got, "exit 0\n") {
		t.Fatal(got)
	}
	tip, err := checkpoint.NewChain(must(x.cfg.Store.Open()), "taximeter").Tip(x.ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{fullFile(tip.Entries[0], ".sst"), fullFile(tip.Entries[1], "")} {
		path := filepath.Join(x.cfg.Store.Folder, filepath.FromSlash(key))
		sound, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		bad := append([]byte(nil), sound...)
		bad[len(bad)/2] ^= 1
		if err := os.WriteFile(path, bad, 0o666); err != nil {
			t.Fatal(err)
		}
		got := x.taximeter("checkpoint", "verify", fmt.Sprint(tip.Number))
		if !strings.Contains(got, "damaged in 1 places\n  "+key+"\n") || !strings.HasSuffix(got, "exit 1\n") {
			t.Errorf("%s: %s", key, got)
		}
		if got := x.taximeter("checkpoint", "restore", fmt.Sprint(tip.Number), "--reason", "r", "--yes"); !strings.Contains(got, key) || !strings.HasSuffix(got, "exit 1\n") {
			t.Errorf("a damaged checkpoint was restored: %s", got)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if got := x.taximeter("checkpoint", "verify"); !strings.Contains(got, key) || !strings.HasSuffix(got, "exit 1\n") {
			t.Errorf("without %s: %s", key, got)
		}
		if err := os.WriteFile(path, sound, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// fullFile is the key of a file of that kind with something in it.
func fullFile(e checkpoint.Entry, kind string) string {
	for _, f := range e.Files {
		if f.Size > 0 && strings.HasSuffix(f.Name, kind) {
			return f.Key
		}
	}
	return ""
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestCheckpointsAreShownAndCompared(t *testing.T) {
	x := newTown(t)
	x.start()
	x.round()
	first := x.checkpoint()
	x.round()
	second := x.checkpoint()
	var d operator.Diff
	read := func(into any, args ...string) {
		t.Helper()
		got := strings.TrimSuffix(x.taximeter(append(args, "--json")...), "exit 0\n")
		if err := json.Unmarshal([]byte(got), into); err != nil {
			t.Fatalf("%v: %s", err, got)
		}
	}
	read(&d, "checkpoint", "diff", fmt.Sprint(first), fmt.Sprint(second))
	offsets := int64(0)
	for _, p := range d.Partitions {
		offsets += p.Offsets[schemas.Telemetry]
		if p.Added == 0 || p.Bytes == 0 || p.Watermark != 10*schemas.Minute {
			t.Errorf("%+v", p)
		}
	}
	if offsets != 41 || len(d.Partitions) != 2 {
		t.Errorf("%d offsets of telemetry in %+v", offsets, d)
	}
	var s operator.Details
	read(&s, "checkpoint", "show", fmt.Sprint(second))
	waiting := 0
	for _, p := range s.Partitions {
		for _, o := range p.Pending {
			if o.Fault != "" {
				t.Error(o.Fault)
			}
			waiting += o.Windows
		}
	}
	if waiting == 0 || s.Sealed != 2 || len(s.Partitions) != 2 || s.Partitions[0].Owner != "n1" || s.NewBytes == 0 || s.NewBytes > s.Bytes+1<<20 {
		t.Errorf("%+v", s)
	}
	for _, args := range [][]string{{"list"}, {"show"}, {"diff", fmt.Sprint(first), fmt.Sprint(second)}} {
		if got := x.taximeter(append([]string{"checkpoint"}, args...)...); !strings.HasSuffix(got, "exit 0\n") {
			t.Errorf("%v: %s", args, got)
		} else {
			t.Logf("%v\n%s", args, got)
		}
	}
}

func TestOperatorsAreToldWhatIsWrong(t *testing.T) {
	x := newTown(t)
	if got := x.taximeter("checkpoint", "list"); !regexp.MustCompile(`no checkpoints of namespace taximeter in folder .*--store.*\nexit 1`).MatchString(got) {
		t.Error(got)
	}
	x.start()
	x.round()
	n := x.checkpoint()
	for _, c := range []struct {
		args string
		want string
		code int
	}{
		{"checkpoint show 99", "no checkpoint 99 yet: the newest is", 1},
		{"checkpoint show x", `"x" is no checkpoint's number`, 2},
		{"checkpoint diff 1", "the numbers of two checkpoints is missing", 2},
		{fmt.Sprint("checkpoint restore ", n), "no reason; give --reason TEXT", 2},
		{fmt.Sprint("checkpoint restore ", n, " --reason x"), "nobody is at the terminal to confirm this; give --yes", 2},
		{"partition set-offset --partition 0 --topic corridas.alertas --offset 1 --reason x", "none of the input topics", 2},
		{"partition set-offset --partition 9 --topic corridas.eventos --offset 1 --reason x", "give 0 to 1, or all", 2},
	} {
		if got := x.taximeter(strings.Fields(c.args)...); !strings.Contains(got, c.want) || !strings.HasSuffix(got, fmt.Sprintf("exit %d\n", c.code)) {
			t.Errorf("%s: %s", c.args, got)
		}
	}
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }
