package inject

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"taximeter/checkpoint"
	"taximeter/checkpoint/storetest"
)

func TestPlansAreReadAsWritten(t *testing.T) {
	for _, text := range []string{"", "crash=commit-after:2", "store=0.05 seed=7", "crash=sent:1 store=0.02 seed=18446744073709551615", "dark=/d slow=/s memory=20 clock=/c"} {
		p, err := Parse(text)
		if err != nil || p.String() != text {
			t.Errorf("%q: %q, %v", text, p, err)
		}
	}
	for _, text := range []string{"crash=nowhere:1", "crash=commit:0", "crash=commit", "store=x", "seed=-1", "other=1"} {
		if _, err := Parse(text); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}

// In a process of its own, since it ends there: a store passes two manifests, and the
// process is to die once the second is in the store and before its writer hears.
func TestAProcessDiesAtItsPoint(t *testing.T) {
	const doomed = "TAXIMETER_TEST_DOOMED"
	key := func(n checkpoint.Number) string { return checkpoint.Namespace("ns").Manifest(n) }
	if os.Getenv(doomed) != "" {
		armed, err := FromEnvironment()
		if err != nil {
			t.Fatal(err)
		}
		st := armed.Store(storetest.NewMemory(), "ns")
		for n := range checkpoint.Number(3) {
			if _, err := st.PutIfAbsent(t.Context(), key(n+1), strings.NewReader("x")); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintln(os.Stdout, "alive after "+key(n+1))
		}
		return
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), doomed+"=1", Variable+"=crash=commit-after:2")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if err == nil || !ok || !status.Signaled() || status.Signal() != syscall.SIGKILL {
		t.Fatalf("it ended with %v:\n%s", err, &out)
	}
	if said := out.String(); !strings.Contains(said, key(1)) || strings.Contains(said, key(2)) {
		t.Errorf("it said:\n%s", said)
	}
}

// Faults are errors with and without effect; without a rate there are none.
func TestStoreFaults(t *testing.T) {
	lost, unheard := 0, 0
	memory := storetest.NewMemory()
	spoilt := Plan{StoreFaults: 0.5, Seed: 3}.Arm().Store(memory, "ns")
	for i := range 200 {
		key := "ns/part/" + strings.Repeat("x", i+1)
		err := spoilt.Put(t.Context(), key, strings.NewReader("x"))
		_, stat := memory.Stat(t.Context(), key)
		switch there := stat == nil; {
		case err == nil && !there:
			t.Fatalf("%s was stored and is not there", key)
		case err != nil && !errors.Is(err, ErrInjected):
			t.Fatal(err)
		case err != nil && there:
			unheard++
		case err != nil:
			lost++
		}
	}
	if lost == 0 || unheard == 0 || lost+unheard > 150 {
		t.Errorf("of 200 calls %d were lost and %d unheard", lost, unheard)
	}
}
