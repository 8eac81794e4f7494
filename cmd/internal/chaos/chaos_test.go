package chaos

import (
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// TestCrashRuns is the harness in small, with processes that watch for data races. The
// integration tests and `make chaos` do many.
func TestCrashRuns(t *testing.T) {
	campaign(t, Options{Binary: build(t, "-race")}, 1, 4)
}

// build makes a taximeter that can be made to fail.
func build(t *testing.T, flags ...string) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "taximeter")
	args := append([]string{"build", "-tags", "chaos", "-o", binary}, flags...)
	cmd := exec.CommandContext(t.Context(), filepath.Join(runtime.GOROOT(), "bin", "go"), append(args, "taximeter/cmd/taximeter")...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
	return binary
}

// atOnce is how many runs share the processors; they wait most of the time.
const atOnce = 4

func campaign(t *testing.T, o Options, first uint64, n int) {
	t.Helper()
	o.Dir, o.Log = t.TempDir(), slog.New(slog.DiscardHandler)
	total := Campaign(t.Context(), o, first, n, atOnce, func(s Scenario, r Result) {
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
	})
	t.Logf("%s; %d processes lived and died", total, total.Starts)
	if total.Runs != n {
		t.Errorf("%d of %d runs were made", total.Runs, n)
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
