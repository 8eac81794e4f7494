package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"taximeter/cluster/node"
	"taximeter/cmd/internal/crash"
)

// Exit codes.
const (
	exitOK    = 0
	exitError = 1 // the work could not be done
	exitUsage = 2 // the command was not understood
	exitTaken = 3 // another process runs under this nodeId: starting again would only revoke it
)

// run is the whole program but for the process around it.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	out := &output{to: stdout}
	root.SetOut(out)
	root.SetErr(stderr)
	ran, err := execute(ctx, root)
	if err == nil {
		err = out.failed()
	}
	return report(ctx, ran, err, stderr)
}

// output remembers that not all of it could be written: a report that was redirected to a full disk
// must not pass for a whole one.
type output struct {
	to io.Writer

	mu  sync.Mutex // guards err, and writes
	err error      // the first
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n, err := o.to.Write(b)
	if o.err == nil {
		o.err = err
	}
	return n, err
}

func (o *output) failed() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		return nil
	}
	return fmt.Errorf("the output is not whole: %w; free some space or choose another place; all else that the command does was done", o.err)
}

func execute(ctx context.Context, root *cobra.Command) (ran *cobra.Command, err error) {
	defer crash.Catch(&err)
	return root.ExecuteContextC(ctx)
}

func newRoot() *cobra.Command {
	root := group(&cobra.Command{
		Use:   "taximeter",
		Short: "Meter and bill ride-hailing trips exactly, from Kafka",
		Example: `  taximeter convert porto porto_points.csv.gz -o porto.jsonl.gz
  taximeter simulate --events porto.jsonl.gz --tariffs tarifas.json --out results
  taximeter trip show t-4711`,
	})
	for _, s := range sections() {
		root.AddGroup(&cobra.Group{ID: s.title, Title: s.title + ":"})
		for _, c := range s.commands {
			c.GroupID = s.title
			root.AddCommand(c)
		}
	}
	root.AddCommand(newVersion())
	root.SilenceErrors = true
	root.SilenceUsage = true
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usage(badFlag(err)) })
	return root
}

// section is a part of the help: what a person wants to do.
type section struct {
	title    string
	commands []*cobra.Command
}

func sections() []section {
	return []section{
		{"Run", []*cobra.Command{newDev(), newNode(), newBroker(), newSimulate()}},
		{"Look", []*cobra.Command{newTrip(), newAlerts(), newConsume(), newCluster()}},
		{"Event files", []*cobra.Command{newGenerate(), newConvert(), newProduce()}},
		{"Operate", []*cobra.Command{newCatalogue(), newCheckpoint(), newLake(), newPartition(), newDLQ(), newReconcile()}},
	}
}

// group is a command that only holds others.
func group(c *cobra.Command, commands ...*cobra.Command) *cobra.Command {
	c.AddCommand(commands...)
	c.Args = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		err := fmt.Errorf("there is no %q in %s", args[0], c.CommandPath())
		c.SuggestionsMinimumDistance = 2
		if close := c.SuggestionsFor(args[0]); len(close) > 0 {
			err = fmt.Errorf("%w; did you mean %s?", err, strings.Join(close, " or "))
		}
		return usage(err)
	}
	c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	return c
}

// usageError is a command that was not understood.
type usageError struct{ error }

func usage(err error) error { return usageError{err} }

func (e usageError) Unwrap() error { return e.error }

// begunError is of something that has an effect though it was interrupted.
type begunError struct{ error }

func begun(err error) error { return begunError{err} }

func (e begunError) Unwrap() error { return e.error }

// flagTypes are the words for what a flag's value must be.
var flagTypes = map[string]string{"int": "a whole number", "int64": "a whole number", "float64": "a number", "bool": "true or false"}

// badFlag says what a flag wants, instead of which function could not read it.
func badFlag(err error) error {
	if bad, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		if want := flagTypes[bad.GetFlag().Value.Type()]; want != "" {
			return fmt.Errorf("--%s %q; write %s", bad.GetFlag().Name, bad.GetValue(), want)
		}
	}
	return err
}

// arguments checks how many arguments a command got; most -1 = any number.
func arguments(what string, least, most int) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return usage(fmt.Errorf("%s is missing", what))
		case most >= 0 && len(args) > most:
			return usage(fmt.Errorf("%q is too much: want only %s", args[most], what))
		}
		return nil
	}
}

// report tells a person what went wrong, and what to do about it, and gives the exit code.
func report(ctx context.Context, ran *cobra.Command, err error, stderr io.Writer) int {
	if err == nil {
		return exitOK
	}
	if _, has := errors.AsType[begunError](err); !has && ctx.Err() != nil && errors.Is(err, context.Canceled) {
		fmt.Fprintln(stderr, "taximeter: interrupted")
		return exitError
	}
	fmt.Fprintf(stderr, "taximeter: %s\n", strings.ReplaceAll(err.Error(), "\n", "\n  "))
	if bug, ok := errors.AsType[*crash.Error](err); ok {
		if path, err := bug.Save(""); err == nil {
			fmt.Fprintf(stderr, "Please report it with the file %s and what `taximeter version` prints.\n", path)
		}
	}
	if _, ok := errors.AsType[usageError](err); ok {
		if ran != nil {
			fmt.Fprintf(stderr, "See: %s --help\n", ran.CommandPath())
		}
		return exitUsage
	}
	if errors.Is(err, node.ErrReplaced) {
		return exitTaken
	}
	return exitError
}
