//go:build linux

package leash

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"
)

// parent, in the environment, makes a test binary start a process and wait for ever.
const parent = "LEASH_TEST_PARENT"

func TestNothingOutlivesItsParent(t *testing.T) {
	if os.Getenv(parent) != "" {
		child := exec.Command("cat")
		child.Stdin, child.Stdout = os.Stdin, os.Stdout
		Tie(child)
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(os.Stdout, "started")
		_ = child.Wait() // never
		return
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestNothingOutlivesItsParent$")
	cmd.Env = append(os.Environ(), parent+"=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }() // a child that is left ends
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	if line, err := lines.ReadString('\n'); err != nil || line != "started\n" {
		t.Fatalf("the parent said %q, %v", line, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _, _ = io.Copy(io.Discard, lines); close(ended) }() // both have the pipe's other end
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Error("its process lives on")
	}
	_ = cmd.Wait() // it was killed
}
