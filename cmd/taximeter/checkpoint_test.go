package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"taximeter/checkpoint"
	"taximeter/cmd/internal/operator"
	"taximeter/schemas"
)

func (x *town) restore(to checkpoint.Number, args ...string) string {
	x.Helper()
	return x.taximeter(append([]string{"checkpoint", "restore", fmt.Sprint(to), "--brokers", strings.Join(x.world.Brokers(), ","), "--yes"}, args...)...)
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
		return x.restore(back, "--reason", "a drill")
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
		return x.restore(numbers[5], "--reason", "forward again")
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
		if got := x.restore(tip.Number, "--reason", "r"); !strings.Contains(got, key) || !strings.HasSuffix(got, "exit 1\n") {
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
	first, second := x.twoCheckpoints()
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

// The newest manifest is damaged and no backup has it: nothing starts, the commands still
// show what is whole, and by the operator's word the chain goes on from there, with nothing
// doubled and nothing missing.
func TestADamagedTipManifestIsPassedOverByAnOperatorsWord(t *testing.T) {
	x := newTown(t)
	x.start()
	for range 3 {
		x.round()
		x.checkpoint()
	}
	x.stop()
	before := x.results()
	x.once(before)
	ns := checkpoint.Namespace("taximeter")
	newest, err := checkpoint.NewChain(must(x.cfg.Store.Open()), ns).Newest(x.ctx)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(x.cfg.Store.Folder, filepath.FromSlash(ns.Manifest(newest)))
	bad := must(os.ReadFile(path))
	bad[len(bad)/2] ^= 1
	if err := os.WriteFile(path, bad, 0o666); err != nil {
		t.Fatal(err)
	}
	if why := x.refused(); !strings.Contains(why, ns.Manifest(newest)+" is damaged") {
		t.Errorf("a node says %s", why)
	}
	if got := x.taximeter("checkpoint", "list"); !strings.Contains(got, "damaged") || !strings.HasSuffix(got, "exit 0\n") {
		t.Error(got)
	}
	whole := newest - 3 // what came after is public, and computed again
	if got := x.taximeter("checkpoint", "verify", fmt.Sprint(whole)); !strings.Contains(got, "is whole") {
		t.Error(got)
	}
	if got := x.restore(whole, "--reason", "r"); !strings.Contains(got, "--pass-over-damaged-tip") || !strings.HasSuffix(got, "exit 1\n") {
		t.Errorf("without the word for it: %s", got)
	}
	got := x.restore(whole, "--pass-over-damaged-tip", "--reason", "bit rot")
	if !strings.Contains(got, fmt.Sprintf("restored: checkpoint %d", newest+1)) || !strings.HasSuffix(got, "exit 0\n") {
		t.Fatal(got)
	}
	x.start()
	x.round()
	x.checkpoint()
	after := x.results()
	x.once(after)
	for id, b := range before.FinalBills() {
		if after.FinalBills()[id] != b {
			t.Errorf("bill of %s was %+v, is %+v", id, b, after.FinalBills()[id])
		}
	}
	if len(after.Bills) <= len(before.Bills) {
		t.Errorf("%d bills before, %d after another round", len(before.Bills), len(after.Bills))
	}
	if got := x.restore(whole, "--pass-over-damaged-tip", "--reason", "r"); !strings.Contains(got, "is not damaged") {
		t.Error(got)
	}
	if got := x.taximeter("checkpoint", "verify"); !strings.Contains(got, "is whole") {
		t.Error(got)
	}
}
