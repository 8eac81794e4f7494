// Package crash turns a panic into an error that a person can act on: what happened in one
// sentence, and a file with the details to send along. It must never print a stack trace.
package crash

import (
	"fmt"
	"os"
	"runtime/debug"
)

// Error is a panic: a broken invariant, so a fault of the program and not of its user.
type Error struct {
	Value any
	Stack []byte
}

func (e *Error) Error() string { return fmt.Sprintf("a bug in taximeter: %v", e.Value) }

// Catch, deferred, makes of a panic of its goroutine the error of its function.
func Catch(err *error) {
	if v := recover(); v != nil {
		*err = &Error{v, debug.Stack()}
	}
}

// Save writes the details to a file in the folder of temporary files, "" = where the
// system keeps them.
func (e *Error) Save(dir string) (path string, err error) {
	f, err := os.CreateTemp(dir, "taximeter-crash-*.txt")
	if err != nil {
		return "", fmt.Errorf("save the details of a crash: %w", err)
	}
	if _, err := fmt.Fprintf(f, "%q\n%v\n\n%s", os.Args, e.Value, e.Stack); err != nil {
		_ = f.Close() // the write's error tells more
		return "", fmt.Errorf("save the details of a crash: %w", err)
	}
	return f.Name(), f.Close()
}
