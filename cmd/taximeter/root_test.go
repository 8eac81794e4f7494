package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// full is a disk without room for more than some bytes.
type full struct{ left int }

func (f *full) Write(b []byte) (int, error) {
	if f.left -= len(b); f.left < 0 {
		return 0, errors.New("no space left on device")
	}
	return len(b), nil
}

func TestOutputThatIsNotWholeIsAnError(t *testing.T) {
	for _, args := range [][]string{{"version"}, {"--help"}} {
		var errs bytes.Buffer
		if code := run(t.Context(), args, &full{5}, &errs); code != exitError || !strings.Contains(errs.String(), "the output is not whole: no space left on device") {
			t.Errorf("%v: exit %d: %s", args, code, &errs)
		}
		if code := run(t.Context(), args, &full{1 << 20}, &errs); code != exitOK {
			t.Errorf("%v: exit %d: %s", args, code, &errs)
		}
	}
}
