// Command state measures what remembered events cost: the pause of a cut, the time and the
// bytes of a checkpoint, the time of a recovery, and bytes on disk, at growing numbers of
// remembered events. The parts are those of a node (partition, local store, object store in
// a folder, chain), without Kafka and actors. It ends with one line of JSON for each size.
//
// Start reading at bench.run; meter.go wires the parts.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"taximeter/bench/internal/traffic"
	"taximeter/internal/program"
)

func main() { program.Main("bench", run) }

// perSecond of event time keeps ten million events within the day that they are remembered.
const perSecond = 150

var shapes = map[string]func() traffic.Config{"mixed": traffic.Mixed, "tracking": traffic.Tracking}

type bench struct {
	sizes       []int64 // remembered events
	partitions  int
	change      int // events between two measured checkpoints
	checkpoints int // measured at each size
	meter       *meter
	stream      *traffic.Stream
}

func run(ctx context.Context) (err error) {
	b := &bench{}
	sizes := flag.String("remembered", "100000,1000000,10000000", "numbers of remembered events to measure at, rising")
	shape := flag.String("shape", "tracking", "tracking: 90 % telemetry, 78 records a trip; mixed: 60 %, 20 records a trip")
	flag.IntVar(&b.partitions, "partitions", 24, "partitions")
	flag.IntVar(&b.change, "change", 2_700, "events between two measured checkpoints: 90 a second for 30 s")
	flag.IntVar(&b.checkpoints, "checkpoints", 10, "checkpoints measured at each size")
	flag.Parse()
	for text := range strings.SplitSeq(*sizes, ",") {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 1 || len(b.sizes) > 0 && n <= b.sizes[len(b.sizes)-1] {
			return fmt.Errorf("--remembered %q: give rising numbers", *sizes)
		}
		b.sizes = append(b.sizes, n)
	}
	shaped, ok := shapes[*shape]
	if !ok || flag.NArg() > 0 || b.partitions < 1 || b.change < 1 || b.checkpoints < 1 {
		flag.Usage()
		return errors.New("bad flags")
	}
	dir, err := os.MkdirTemp("", "taximeter-state-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	cfg := shaped()
	cfg.PerSecond = perSecond
	b.stream = traffic.New(cfg)
	if b.meter, err = newMeter(ctx, dir, b.partitions, cfg.Start); err != nil {
		return err
	}
	err = b.run(ctx)
	return errors.Join(err, b.meter.close())
}

// result is one size's line.
type result struct {
	Remembered    int64   `json:"remembered_events"`
	StateMB       float64 `json:"state_mb"`        // that the newest manifest cites
	BytesPerEvent float64 `json:"bytes_per_event"` // of them, by remembered event
	Changed       int     `json:"changed_events"`  // between two checkpoints
	PauseP50      float64 `json:"pause_p50_us"`    // of a partition for its cut
	PauseP99      float64 `json:"pause_p99_us"`
	Checkpoint    float64 `json:"checkpoint_ms"` // from the first cut until the manifest is in the chain, median
	CheckpointMax float64 `json:"checkpoint_max_ms"`
	WrittenMB     float64 `json:"written_mb"` // to the object store by one checkpoint, mean
	WrittenMaxMB  float64 `json:"written_max_mb"`
	Recovery      float64 `json:"recovery_ms"`       // all partitions from the object store, without the replay
	RecoveryLocal float64 `json:"recovery_local_ms"` // the same where the files lie already
}

func (b *bench) run(ctx context.Context) error {
	fmt.Fprintf(os.Stderr, "%12s %9s %8s %10s %10s %12s %12s %10s %10s %10s %10s\n", "remembered", "state MB", "B/event", "pause p50", "p99 us",
		"checkpoint", "max ms", "written", "max MB", "recovery", "local ms")
	for _, size := range b.sizes {
		if err := b.grow(ctx, size); err != nil {
			return err
		}
		r, err := b.measure(ctx)
		if err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "%12d %9.1f %8.1f %10.0f %10.0f %12.1f %12.1f %10.2f %10.2f %10.1f %10.1f\n", r.Remembered, r.StateMB, r.BytesPerEvent,
			r.PauseP50, r.PauseP99, r.Checkpoint, r.CheckpointMax, r.WrittenMB, r.WrittenMaxMB, r.Recovery, r.RecoveryLocal)
		if err := json.NewEncoder(os.Stdout).Encode(r); err != nil {
			return err
		}
	}
	return nil
}

// grow feeds events until so many are remembered, with checkpoints as a busy node makes them.
func (b *bench) grow(ctx context.Context, size int64) error {
	const busy = 100 // times as many events between two checkpoints
	for b.meter.remembered() < size {
		if err := b.feed(ctx, min(busy*b.change, int(size)/4)); err != nil {
			return err
		}
		if _, err := b.meter.checkpoint(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) feed(ctx context.Context, n int) error {
	for range n {
		line, _ := b.stream.Next() // without end
		if err := b.meter.take(&line); err != nil {
			return err
		}
	}
	return errors.Join(b.meter.flush(), ctx.Err())
}

func (b *bench) measure(ctx context.Context) (r result, err error) {
	var took, pauses []time.Duration
	var written []int64
	for range b.checkpoints {
		if err := b.feed(ctx, b.change); err != nil {
			return r, err
		}
		c, err := b.meter.checkpoint(ctx)
		if err != nil {
			return r, err
		}
		took, pauses, written = append(took, c.took), append(pauses, c.pauses...), append(written, c.written)
	}
	r = result{Remembered: b.meter.remembered(), Changed: b.change, StateMB: mb(b.meter.cited()), BytesPerEvent: float64(b.meter.cited()) / float64(b.meter.remembered()),
		PauseP50: us(percentile(pauses, 50)), PauseP99: us(percentile(pauses, 99)), Checkpoint: ms(percentile(took, 50)), CheckpointMax: ms(percentile(took, 100)),
		WrittenMaxMB: mb(slices.Max(written))}
	for _, n := range written {
		r.WrittenMB += mb(n) / float64(len(written))
	}
	fromStore, err := b.meter.recover(ctx)
	if err != nil {
		return r, err
	}
	local, err := b.meter.recover(ctx, withLocalFiles)
	r.Recovery, r.RecoveryLocal = ms(fromStore), ms(local)
	return r, err
}

func percentile(samples []time.Duration, percent int) time.Duration {
	sorted := slices.Sorted(slices.Values(samples))
	return sorted[(len(sorted)*percent+99)/100-1]
}

func mb(n int64) float64         { return float64(n) / (1 << 20) }
func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
func us(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }
