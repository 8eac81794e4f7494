package rig

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"taximeter/cluster/node"
)

// Warm is a processor that has run its replay once and waits to run it again, in the same
// process: the pages of its heap, and whatever else a process acquires, are there.
type Warm struct{ p *Process }

// warmed is what it says then.
type warmed struct{ Took time.Duration }

// WarmProcessor starts one. What the first run published stays on the broker.
func WarmProcessor(ctx context.Context, s ProcessorSpec) (*Warm, error) {
	s.Mode, s.Warm = node.Replay, true
	p, err := Spawn(ctx, RoleProcessor, s)
	if err != nil {
		return nil, err
	}
	return &Warm{p}, p.Hear(&warmed{})
}

// Run is the measured replay, from a broker that may be another by now.
func (w *Warm) Run(where Where) (r Processed, err error) {
	if err := w.p.Tell(where); err != nil {
		return r, errors.Join(err, w.p.Stop())
	}
	var up Up
	if err := errors.Join(w.p.Hear(&up), w.p.Hear(&r)); err != nil {
		return r, fmt.Errorf("the replay did not end well: %w", err)
	}
	return r, w.p.Stop()
}

// Stop ends it without a run.
func (w *Warm) Stop() error { return w.p.Stop() }

// warmUp is the process's side: a node as it is measured afterwards, in folders of its own. It
// returns when it is told where to read next.
func warmUp(ctx context.Context, s *ProcessorSpec, log *slog.Logger, say *json.Encoder) error {
	first := *s
	first.Dir = filepath.Join(s.Dir, "warm")
	used := Meter()
	n, err := node.Start(ctx, first.config(), node.Options{Mode: s.Mode, AppendTimes: s.AppendTimes, Log: log})
	if err != nil {
		return err
	}
	err = n.Done(ctx)
	stopping, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := errors.Join(err, n.Stop(stopping), os.RemoveAll(first.Dir)); err != nil {
		return fmt.Errorf("warm up: %w", err)
	}
	runtime.GC() // what it left behind is not the measured run's
	if err := say.Encode(warmed{used().Wall}); err != nil {
		return err
	}
	if err := json.NewDecoder(os.Stdin).Decode(&s.Where); err != nil {
		return fmt.Errorf("nobody tells where to read: %w", err)
	}
	return ResetPeakRSS(os.Getpid())
}
