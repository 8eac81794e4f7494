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
	"runtime/debug"
	"runtime/pprof"
	"strings"
	"time"

	"taximeter/actors/ingest"
	"taximeter/checkpoint"
	"taximeter/cluster/node"
	"taximeter/internal/heap"
	"taximeter/internal/kafkaserver"
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
	Peer        *Peer  // nil = the node is alone
	MemoryMB    int64  // that the Go heap should keep to; 0 = as the program decides by itself
	Warm        bool   // run a replay once before the one that is measured; see WarmProcessor
}

// Peer makes a node one of several.
type Peer struct {
	ID             checkpoint.NodeID
	Listen, Remote string
	Seeds          []string
	Bootstrap      bool
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
	if s.MemoryMB > 0 {
		debug.SetMemoryLimit(s.MemoryMB << 20)
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	if s.Warm {
		if err := warmUp(ctx, &s, log, say); err != nil {
			return err
		}
	}
	gone := parentGone()
	stopProfiles, err := profile(s.Profiles)
	if err != nil {
		return err
	}
	used := Meter()
	n, err := node.Start(ctx, s.config(), node.Options{Mode: s.Mode, AppendTimes: s.AppendTimes, Log: log})
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
	// Others of a cluster must not take over, and count, what this one has counted.
	err = errors.Join(err, say.Encode(&report))
	<-gone
	stopping, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return errors.Join(err, n.Stop(stopping))
}

// config of the node.
func (s *ProcessorSpec) config() node.Config {
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
	if p := s.Peer; p != nil {
		c.NodeID, c.Data = string(p.ID), filepath.Join(c.Data, string(p.ID))
		c.Cluster.Listen, c.Cluster.Remote, c.Cluster.Seeds, c.Cluster.Bootstrap = p.Listen, p.Remote, p.Seeds, p.Bootstrap
	}
	return c
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
	return RunProcessors(ctx, s, 1)
}

// RunProcessors runs a replay to its end in so many processes, a cluster if there are several,
// and adds up what they used.
func RunProcessors(ctx context.Context, s ProcessorSpec, n int) (all Processed, err error) {
	s.Mode = node.Replay
	peers, err := peersOf(n)
	if err != nil {
		return all, err
	}
	var running []*Process
	defer func() {
		for _, p := range running {
			err = errors.Join(err, p.Stop())
		}
	}()
	for _, peer := range peers {
		own := s
		own.Peer = peer
		if peer != nil && s.Profiles != "" {
			own.Profiles = filepath.Join(s.Profiles, string(peer.ID))
		}
		p, err := Spawn(ctx, RoleProcessor, own)
		if err != nil {
			return all, err
		}
		running = append(running, p)
	}
	for _, p := range running {
		var up Up
		var r Processed
		if err := errors.Join(p.Hear(&up), p.Hear(&r)); err != nil {
			return all, fmt.Errorf("the replay did not end well: %w", err)
		}
		all.add(r)
	}
	return all, nil
}

// peersOf so many nodes on this machine; of one, none.
func peersOf(n int) ([]*Peer, error) {
	if n == 1 {
		return []*Peer{nil}, nil
	}
	free, err := kafkaserver.Addresses(2 * n)
	if err != nil {
		return nil, err
	}
	var peers []*Peer
	for i := range n {
		p := &Peer{ID: checkpoint.NodeID(fmt.Sprintf("bench-%d", i+1)), Listen: free[2*i], Remote: free[2*i+1], Bootstrap: i == 0}
		if i > 0 {
			p.Seeds = []string{peers[0].Listen}
		}
		peers = append(peers, p)
	}
	return peers, nil
}

// add counts what another process did at the same time.
func (r *Processed) add(o Processed) {
	r.Wall = max(r.Wall, o.Wall)
	r.User += o.User
	r.System += o.System
	r.Mallocs += o.Mallocs
	r.Bytes += o.Bytes
	r.GCs += o.GCs
	r.Records += o.Records
	r.DeadLetters += o.DeadLetters
	r.Trips += o.Trips
	r.PeakRSS += o.PeakRSS
	r.StateBytes, r.Checkpoints = max(r.StateBytes, o.StateBytes), max(r.Checkpoints, o.Checkpoints)
	r.SealPauseMax = max(r.SealPauseMax, o.SealPauseMax)
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
