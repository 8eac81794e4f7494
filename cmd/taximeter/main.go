// Command taximeter meters and bills ride-hailing trips exactly, reading Kafka.
//
// One file per subcommand; start reading at root.go.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"taximeter/internal/heap"
)

func main() {
	heap.Tune()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
