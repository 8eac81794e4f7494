package chaos

import (
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"taximeter/cmd/internal/chaos/inject"
)

// TestCrashRuns is the harness in small, with processes that watch for data races. The
// integration tests and `make chaos` do many.
func TestCrashRuns(t *testing.T) {
	binary := build(t, "-race")
	t.Run("drawn", func(t *testing.T) {
		t.Parallel()
		campaign(t, Options{Binary: binary}, 1, 3)
	})
	for name, lives := range named {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			one(t, Options{Binary: binary}, lives)
		})
	}
}

// named are the deaths that the protocol's rules speak of.
var named = map[string][]Life{
	"kill between manifest and publish":   {at(inject.CommitAfter, 2), at(inject.Publish, 2), at(inject.CommitAfter, 2)},
	"kill between publish and marker":     {at(inject.SentAfter, 1), at(inject.SentAfter, 3), at(inject.EndTxn, 2)},
	"kill after the transaction":          {at(inject.EndTxnAfter, 1), at(inject.EndTxnAfter, 4)},
	"ambiguous end of a transaction":      {{End: Killed, After: 900 * time.Millisecond, Deaf: 0.5}, {End: Killed, After: 900 * time.Millisecond, Deaf: 1}},
	"the end of a transaction comes late": {{End: Killed, After: 1500 * time.Millisecond, Late: 0.5}, {End: Killed, After: 1500 * time.Millisecond, Late: 1}},
	"the state loads slowly":              {at(inject.CommitAfter, 3), {End: Killed, After: 6 * time.Second, Elsewhere: true, Plan: inject.Plan{Slow: "/"}}},
	"two owners overlap":                  {{End: Overtaken, After: 300 * time.Millisecond}, {End: Overtaken, After: 600 * time.Millisecond, SameData: true}},
	"the broker restarts":                 {{End: Rebooted, After: 300 * time.Millisecond}},
	"killed in a replay":                  {{Replay: true, End: Crashed, After: time.Second, Plan: inject.Plan{Crash: inject.OfferAfter, Nth: 1}}, {Replay: true, End: Crashed, After: time.Second, Plan: inject.Plan{Crash: inject.SentAfter, Nth: 1}}},
}

func at(point inject.Point, nth int) Life {
	return Life{End: Crashed, After: 1500 * time.Millisecond, Plan: inject.Plan{Crash: point, Nth: nth}}
}

// After a recovery every event comes again: all are duplicates, and nothing else comes out.
func TestAllEventsAgainAfterARecovery(t *testing.T) {
	one(t, Options{Binary: build(t, "-race")}, []Life{at(inject.SentAfter, 2)}, func(s *Scenario) { s.Again = true })
}

// one runs a scenario with the lives given.
func one(t *testing.T, o Options, lives []Life, change ...func(*Scenario)) Result {
	t.Helper()
	o.Dir, o.Log = t.TempDir(), slog.New(slog.DiscardHandler)
	s := Scenario{Seed: 77, Partitions: 3, Events: 3000, Checkpoint: 150 * time.Millisecond, Resident: 20, Lives: lives}
	for _, c := range change {
		c(&s)
	}
	r := Run(t.Context(), o, s)
	judge(t, o, s, r)
	return r
}

// binaries are what build has made, for all tests.
var binaries struct {
	dir string
	mu  sync.Mutex // guards building
}

func TestMain(m *testing.M) {
	var err error
	if binaries.dir, err = os.MkdirTemp("", "taximeter-chaos-test-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if left := strays(binaries.dir); len(left) > 0 {
		fmt.Fprintln(os.Stderr, "processes stay behind:", left)
		code = 1
	}
	if err := os.RemoveAll(binaries.dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

// strays are the processes that run a program of the folder.
func strays(dir string) (pids []string) {
	programs, _ := filepath.Glob("/proc/[0-9]*/exe")
	for _, exe := range programs {
		if program, err := os.Readlink(exe); err == nil && filepath.Dir(program) == dir {
			pids = append(pids, filepath.Base(filepath.Dir(exe)))
		}
	}
	return pids
}

// build makes a taximeter that can be made to fail, once for each set of flags.
func build(t *testing.T, flags ...string) string {
	t.Helper()
	binaries.mu.Lock()
	defer binaries.mu.Unlock()
	binary := filepath.Join(binaries.dir, "taximeter"+strings.Join(flags, ""))
	if _, err := os.Stat(binary); err == nil {
		return binary
	}
	lookAtSources(t)
	args := append([]string{"build", "-tags", "chaos", "-o", binary}, flags...)
	cmd := exec.CommandContext(t.Context(), "go", append(args, "taximeter/cmd/taximeter")...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
	return binary
}

// lookAtSources makes results of the built program void when its sources change: the go command's test cache knows
// what this package imports and which files its tests look at, and nothing of what a build reads.
func lookAtSources(t *testing.T) {
	t.Helper()
	const root = "../../.."
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "bin" || d.Name() == "data") {
			return filepath.SkipDir
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// atOnce is how many runs share the processors; they wait most of the time.
const atOnce = 4

func campaign(t *testing.T, o Options, first uint64, n int) {
	t.Helper()
	o.Dir, o.Log = t.TempDir(), slog.New(slog.DiscardHandler)
	total := Campaign(t.Context(), o, first, n, atOnce, func(s Scenario, r Result) { judge(t, o, s, r) })
	t.Logf("%s; %s", total, total.Lives())
	if total.Runs != n {
		t.Errorf("%d of %d runs were made", total.Runs, n)
	}
}

// judge fails the test with all that is known of a run that went wrong.
func judge(t *testing.T, o Options, s Scenario, r Result) {
	t.Helper()
	if r.OK() {
		return
	}
	t.Errorf("%s\nduplicated=%d missing=%d differing=%d", s, r.Duplicated, r.Missing, r.Differing)
	for _, f := range r.Findings {
		t.Log(f)
	}
	for _, name := range glob(t, filepath.Join(o.Dir, "seed-*", "process-*.log")) {
		if text, err := os.ReadFile(name); err == nil {
			t.Logf("%s:\n%s", filepath.Base(name), text[:min(len(text), 4000)])
		}
	}
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return names
}
