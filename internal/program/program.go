// Package program is how the harnesses and benches begin and end.
//
// It must never be part of what ships: the node ends in its own way, with several exit codes.
package program

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// Main runs until its work is done or a signal ends it. An error goes to standard error, under the
// program's name, and makes exit code 1.
func Main(name string, run func(context.Context) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}
