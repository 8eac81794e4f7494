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
	"runtime/pprof"
	"strings"
	"time"

	"taximeter/actors/ingest"
	"taximeter/cluster/node"
	"taximeter/internal/heap"
	"taximeter/schemas"
)

// ProcessorSpec is a node with everything on: checkpoints, bills, windows, alerts and dead
// letters to Kafka.
type ProcessorSpec struct {
	Where
	Dir         string // of state and checkpoints
	Mode        node.Mode
	AppendTimes ingest.AppendTimes
	Checkpoint  time.Duration
	Lake        string // folder of a lake; "" = none
	Analytics   string // URL of the analytical tables; "" = none
	Profiles    string // folder for cpu.pprof and allocs.pprof; "" = none
}

// Processed is the processor's report.
type Processed struct {
	Usage              // from before the node's start to everything published, or the dismissal
	Records      int64 // with a verdict, our own bills apart
	DeadLetters  int64
	Trips        int // in memory at the end
	PeakRSS      int64
	StateBytes   int64 // cited by the last checkpoint
	Checkpoints  int64
	SealPauseMax time.Duration // of the last checkpoint, over the partitions
}

// Up is what the processor says once it runs.
type Up struct {
	Admin string
}

// process runs a node: a replay to its end, a live one until it is dismissed. It says Up,
// then Processed.
func process(ctx context.Context, s ProcessorSpec, say *json.Encoder) error {
	heap.Tune()
	gone := parentGone()
	stopProfiles, err := profile(s.Profiles)
	if err != nil {
		return err
	}
	c := node.Default()
	c.NodeID, c.Namespace = "bench", "bench"
	c.Data, c.Store.Folder = filepath.Join(s.Dir, "state"), filepath.Join(s.Dir, "checkpoints")
	c.Kafka.Brokers, c.Registry.URL = s.Brokers, s.Registry
	c.Admin.Listen = "127.0.0.1:0"
	c.Checkpoint.Interval = s.Checkpoint
	if s.Lake != "" {
		c.Lake.Catalog, c.Lake.Warehouse.Folder = "sqlite:"+filepath.Join(s.Lake, "catalog.db"), s.Lake
	}
	c.Analytics.URL = s.Analytics
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))

	used := Meter()
	n, err := node.Start(ctx, c, node.Options{Mode: s.Mode, AppendTimes: s.AppendTimes, Log: log})
	if err != nil {
		return err
	}
	if err := say.Encode(Up{n.AdminURL()}); err != nil {
		return err
	}
	if s.Mode == node.Replay {
		err = n.Done(ctx)
	} else {
		<-gone
	}
	report := Processed{Usage: used(), PeakRSS: peakRSS()}
	if err := errors.Join(err, stopProfiles()); err != nil {
		return err
	}
	report.take(n)
	last, err := n.Checkpoints(ctx, 1)
	if err == nil && len(last.Recent) > 0 {
		report.StateBytes, report.Checkpoints = last.Recent[0].Bytes, last.Tip
	}
	stopping, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return errors.Join(err, n.Stop(stopping), say.Encode(&report))
}

func (r *Processed) take(n *node.Node) {
	for _, p := range n.Partitions() {
		for verdict, count := range p.Verdicts {
			switch {
			case verdict == schemas.Own.String():
				continue // read back, beyond the log that was preloaded
			case strings.HasPrefix(verdict, "dlq:"):
				r.DeadLetters += count
			}
			r.Records += count
		}
		r.Trips += p.Trips
		r.SealPauseMax = max(r.SealPauseMax, time.Duration(p.SealPauseMS*float64(time.Millisecond)))
	}
}

// profile starts a CPU profile; the result ends it and writes down the allocations too.
func profile(dir string) (stop func() error, err error) {
	if dir == "" {
		return func() error { return nil }, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	cpu, err := os.Create(filepath.Join(dir, "cpu.pprof"))
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(cpu); err != nil {
		return nil, err
	}
	return func() error {
		pprof.StopCPUProfile()
		allocs, err := os.Create(filepath.Join(dir, "allocs.pprof"))
		if err != nil {
			return errors.Join(err, cpu.Close())
		}
		runtime.GC() // the profile is as of the last collection
		err = pprof.Lookup("allocs").WriteTo(allocs, 0)
		return errors.Join(err, allocs.Close(), cpu.Close())
	}, nil
}

// RunProcessor runs a replay to its end in a process of its own.
func RunProcessor(ctx context.Context, s ProcessorSpec) (r Processed, err error) {
	s.Mode = node.Replay
	p, err := StartProcessor(ctx, s)
	if err != nil {
		return r, err
	}
	if err := p.Hear(&r); err != nil {
		return r, fmt.Errorf("the replay did not end well: %w", err)
	}
	return r, p.Stop()
}

// StartProcessor starts a node in a process of its own and waits until it is up.
func StartProcessor(ctx context.Context, s ProcessorSpec) (*Process, error) {
	p, err := Spawn(ctx, RoleProcessor, s)
	if err != nil {
		return nil, err
	}
	var up Up
	return p, p.Hear(&up)
}
