package crash

import (
	"errors"
	"os"
	"strings"
	"testing"
)

func TestAPanicIsToldWithoutItsStack(t *testing.T) {
	err := func() (err error) {
		defer Catch(&err)
		panic("watermark went back")
	}()
	bug, ok := errors.AsType[*Error](err)
	if !ok || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "watermark went back") {
		t.Fatalf("%v", err)
	}
	path, err := bug.Save(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(path); err != nil || !strings.Contains(string(b), "crash_test.go") {
		t.Errorf("the file lacks the place: %s, %v", b, err)
	}
}

func TestNoPanicNoError(t *testing.T) {
	want := errors.New("other")
	err := func() (err error) {
		defer Catch(&err)
		return want
	}()
	if err != want {
		t.Errorf("%v", err)
	}
}
