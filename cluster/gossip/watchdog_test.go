package gossip

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// stopped is the other process of the next test.
const stopped = "TAXIMETER_TEST_WATCHED"

func TestAStoppedProcessNoticesWhenItWakes(t *testing.T) {
	if os.Getenv(stopped) != "" {
		fmt.Fprintln(os.Stdout, "ready")
		watch(t.Context(), 200*time.Millisecond, func(late time.Duration) {
			fmt.Fprintln(os.Stdout, "late", late >= 200*time.Millisecond)
		})
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^"+t.Name()+"$", "-test.timeout=1m")
	cmd.Env = append(os.Environ(), stopped+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		cancel()
		_ = cmd.Wait() // killed
	}()
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		switch strings.TrimSpace(lines.Text()) {
		case "ready": // soon it watches
			go func() {
				for ctx.Err() == nil {
					for _, sig := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGCONT} {
						_ = cmd.Process.Signal(sig) // it may have ended
						select {                    // it sleeps, and wakes, for as long as this takes
						case <-time.After(500 * time.Millisecond):
						case <-ctx.Done():
						}
					}
				}
			}()
		case "late true":
			return
		case "late false":
			t.Fatal("a pause below the limit was reported")
		}
	}
	t.Fatalf("it never noticed: %v", lines.Err())
}

func TestStoodTakesTheLongerClock(t *testing.T) {
	now := time.Now()
	suspended := now.Add(time.Second).Round(0) // no monotonic reading: the wall clock alone went on
	if got := stood(now, suspended); got != time.Second {
		t.Errorf("a suspended machine slept %s", got)
	}
	if got := stood(now, now.Add(-time.Hour)); got > 0 {
		t.Errorf("a clock set back counts as %s", got)
	}
}
