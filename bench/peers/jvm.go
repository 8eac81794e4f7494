package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"taximeter/bench/internal/rig"
)

// measure is what a system used, from before its pass over the log to everything committed.
type measure struct {
	cpu, wall time.Duration
	peakRSS   int64
}

// jvmOptions of the peers, beside the size of their heap. The parallel collector is the one made for throughput; whether the
// default would cost them less has not been measured.
var jvmOptions = []string{"-XX:+UseParallelGC", "-XX:+IgnoreUnrecognizedVMOptions",
	"--add-opens=java.base/java.lang=ALL-UNNAMED", "--add-opens=java.base/java.util=ALL-UNNAMED"}

// runPeer starts a peer's process, lets it warm up, and measures one pass.
func runPeer(ctx context.Context, java, heap, module string, settings map[string]string) (m measure, err error) {
	libs := filepath.Join("bench", "peers", module, "target")
	classpath := filepath.Join(libs, module+"-1.jar") + ":" + filepath.Join(libs, "lib", "*")
	args := append([]string{"-Xmx" + heap}, jvmOptions...)
	args = append(args, "-cp", classpath, "taximeter.peers."+module+".Main")
	for name, value := range settings {
		args = append(args, name+"="+value)
	}
	cmd := exec.CommandContext(ctx, java, args...)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return m, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return m, err
	}
	if err := cmd.Start(); err != nil {
		return m, fmt.Errorf("start the peer: %w", err)
	}
	lines := bufio.NewReader(stdout)
	m, err = observe(cmd.Process.Pid, lines, stdin)
	err = errors.Join(err, stdin.Close())
	_, drained := io.Copy(io.Discard, lines)
	if ended := cmd.Wait(); ended != nil {
		err = errors.Join(err, fmt.Errorf("the peer: %w", ended))
	}
	return m, errors.Join(err, drained)
}

func observe(pid int, said *bufio.Reader, tell io.Writer) (m measure, err error) {
	if err := expect(said, "warm"); err != nil {
		return m, err
	}
	before, err := rig.CPUOf(pid)
	if err := errors.Join(err, rig.ResetPeakRSS(pid)); err != nil {
		return m, err
	}
	began := time.Now()
	if _, err := io.WriteString(tell, "\n"); err != nil {
		return m, err
	}
	if err := expect(said, "done"); err != nil {
		return m, err
	}
	m.wall = time.Since(began)
	after, err := rig.CPUOf(pid)
	m.cpu = after - before
	peak, peakErr := rig.PeakRSSOf(pid)
	m.peakRSS = peak
	return m, errors.Join(err, peakErr)
}

func expect(said *bufio.Reader, word string) error {
	for {
		line, err := said.ReadString('\n')
		switch {
		case strings.TrimSpace(line) == word:
			return nil
		case err != nil:
			return fmt.Errorf("the peer ended before it said %q: %w", word, err)
		}
		fmt.Fprint(os.Stderr, line)
	}
}
