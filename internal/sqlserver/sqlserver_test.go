//go:build integration

package sqlserver

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestAServerThatWasKilledListensAgain(t *testing.T) {
	for _, kind := range []Kind{Postgres, ClickHouse} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			s, err := New(t.Context(), kind)
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}()
			for range 3 {
				if err := s.Start(t.Context()); err != nil {
					t.Fatal(err)
				}
				if err := s.Kill(); err != nil {
					t.Fatal(err)
				}
				if listens(s.Address) {
					t.Fatal("it was killed and listens")
				}
			}
		})
	}
}

// parent, in the environment, makes a test binary start a server of that kind and wait for ever.
const parent = "SQLSERVER_TEST_PARENT"

func TestAServerDiesWithUs(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux can")
	}
	if kind := Kind(os.Getenv(parent)); kind != "" {
		s, err := New(t.Context(), kind)
		if err == nil {
			err = s.Start(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(os.Stdout, s.Address, s.dir)
		_, _ = io.Copy(io.Discard, os.Stdin) // for ever
		return
	}
	for _, kind := range []Kind{Postgres, ClickHouse} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAServerDiesWithUs$")
			cmd.Env = append(os.Environ(), parent+"="+string(kind))
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = in.Close() }()
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(out).ReadString('\n')
			address, dir, ok := strings.Cut(strings.TrimSpace(line), " ")
			if err != nil || !ok || !listens(address) {
				t.Fatalf("its parent said %q, %v", line, err)
			}
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait() // it was killed
			left := Server{dir: dir}
			tick, deadline := time.NewTicker(20*time.Millisecond), time.After(10*time.Second)
			defer tick.Stop()
			for listens(address) {
				select {
				case <-tick.C:
				case <-deadline:
					t.Fatal("its parent is gone and it listens")
				}
			}
			if err := left.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
