package rig

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"taximeter/internal/program"
)

// Role is what a child process is.
type Role string

const (
	RoleBroker    Role = "broker"
	RoleProcessor Role = "processor"
	RoleBare      Role = "bare"
)

// roleFlag is the first argument of a child; the role and its settings as JSON follow.
const roleFlag = "--role"

// Main is a bench's program: run, until it ends or is told to, or the work of a child.
func Main(run func(context.Context) error) {
	if isChild, err := asChild(os.Args[1:]); isChild { // its work is done
		run = func(context.Context) error { return err }
	}
	program.Main("bench", run)
}

// asChild does the work of a child and reports whether this process is one. What a child says
// goes to its standard output, a JSON value a line; it ends when its work does or its standard
// input closes.
func asChild(args []string) (isChild bool, err error) {
	if len(args) != 3 || args[0] != roleFlag {
		return false, nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	say := json.NewEncoder(os.Stdout)
	switch Role(args[1]) {
	case RoleBroker:
		err = runRole(args[2], func(s BrokerSpec) error { return serveBroker(ctx, s, say) })
	case RoleProcessor:
		err = runRole(args[2], func(s ProcessorSpec) error { return process(ctx, s, say) })
	case RoleBare:
		err = runRole(args[2], func(s BareSpec) error { return consumeBare(ctx, s, say) })
	default:
		err = fmt.Errorf("no role %q", args[1])
	}
	return true, err
}

func runRole[S any](settings string, run func(S) error) error {
	var s S
	if err := json.Unmarshal([]byte(settings), &s); err != nil {
		return err
	}
	return run(s)
}

// parentGone is closed when the parent closes our standard input, or ends.
func parentGone() <-chan struct{} {
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = io.Copy(io.Discard, os.Stdin) // any end is the end
	}()
	return gone
}
