package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"taximeter/internal/heap"
	"taximeter/schemas"
)

func main() {
	heap.Tune()
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// table is one experiment.
type table struct {
	name string
	run  func() ([]row, error)
}

// row is one size of an experiment. What was not measured is left out.
type row struct {
	Table           string  `json:"table"`
	Size            string  `json:"size"`
	CPUPerEvent     float64 `json:"cpu_us_per_event,omitempty"`
	AllocsPerEvent  float64 `json:"allocs_per_event,omitempty"`
	BytesPerTrip    float64 `json:"bytes_per_trip,omitempty"`
	HeapMB          float64 `json:"heap_mb,omitempty"`
	CheckpointS     float64 `json:"checkpoint_s,omitempty"`
	CheckpointCPUS  float64 `json:"checkpoint_cpu_s,omitempty"`
	CheckpointMB    float64 `json:"checkpoint_new_mb,omitempty"`
	SealPauseP99MS  float64 `json:"seal_pause_p99_ms,omitempty"`
	SealPauseMaxMS  float64 `json:"seal_pause_max_ms,omitempty"`
	RememberedMilli float64 `json:"remembered_millions,omitempty"`
}

const (
	defaultPartitions = 24
	aMinute           = schemas.Minute
)

func run() error {
	only := flag.String("only", "", "one table: trips, remembered, hot or partitions; without it, all")
	quick := flag.Bool("quick", false, "sizes of a tenth, for a machine with little memory or time")
	flag.Parse()
	scale := 1
	if *quick {
		scale = 10
	}
	tables := []table{
		{"trips", func() ([]row, error) { return liveTrips(scale) }},
		{"remembered", func() ([]row, error) { return rememberedEvents(scale) }},
		{"hot", hotTrip},
		{"partitions", func() ([]row, error) { return partitionCounts(scale) }},
	}
	known := false
	for _, t := range tables {
		if *only != "" && *only != t.name {
			continue
		}
		known = true
		rows, err := t.run()
		if err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
		for _, r := range rows {
			r.Table = t.name
			if err := json.NewEncoder(os.Stdout).Encode(r); err != nil {
				return err
			}
		}
	}
	if !known {
		return errors.New("no such table: " + *only)
	}
	return nil
}

// liveTrips: each with twenty minutes of positions, one a minute as in the mission's mix,
// and one every ten seconds.
func liveTrips(scale int) (rows []row, err error) {
	for _, trips := range []int{10_000, 100_000, 1_000_000} {
		for _, every := range []schemas.Millis{aMinute, 10 * schemas.Second} {
			trips := trips / scale
			r := row{Size: fmt.Sprintf("%d trips, a position every %d s", trips, every/schemas.Second)}
			err := inWorld(defaultPartitions, func(w *world) error {
				empty := heapInUse()
				f := newFleet(trips, every)
				if err := f.begin(w); err != nil {
					return err
				}
				beats := int(20 * aMinute / every)
				if err := f.drive(w, beats-beats/5); err != nil {
					return err
				}
				used, err := f.measured(w, beats/5)
				r.CPUPerEvent, r.AllocsPerEvent = used.perEvent()
				if _, err := w.checkpoint(); err != nil { // what waits to be published is not the trips'
					return err
				}
				if err := f.driveSome(w, len(w.owners)); err != nil { // nor is the last batch, which Pebble holds on to
					return err
				}
				for range 2 { // the second finds nothing to do, and waits until all that can has left memory
					if _, err := w.checkpoint(); err != nil {
						return err
					}
				}
				held := heapInUse()
				r.HeapMB = mb(held)
				r.BytesPerTrip = float64(held-empty) / float64(trips)
				return err
			})
			if err != nil {
				return nil, err
			}
			rows = append(rows, r.told())
		}
	}
	return rows, nil
}

// rememberedEvents: a checkpoint of thirty seconds of 9,000 events/s, over a state that
// remembers many.
func rememberedEvents(scale int) (rows []row, err error) {
	const perTrip, checkpoints, between = 100, 5, 270_000
	for _, millions := range []int{1, 10, 20} {
		trips := millions * 1_000_000 / perTrip / scale
		r := row{Size: fmt.Sprintf("%d million / %d", millions, scale)}
		err := inWorld(defaultPartitions, func(w *world) error {
			f := newFleet(trips, 12*schemas.Second)
			if err := f.begin(w); err != nil {
				return err
			}
			for range perTrip / 20 { // with checkpoints on the way, as they are in life
				if err := f.drive(w, 20); err != nil {
					return err
				}
				if _, err := w.checkpoint(); err != nil {
					return err
				}
			}
			var worst checkpointed
			var pauses []time.Duration
			for range checkpoints {
				if err := f.driveSome(w, between/scale); err != nil {
					return err
				}
				c, err := w.checkpoint()
				if err != nil {
					return err
				}
				pauses = append(pauses, c.pauses...)
				if c.wall > worst.wall {
					worst = c
				}
			}
			r.CheckpointS, r.CheckpointCPUS, r.CheckpointMB = worst.wall.Seconds(), worst.cpu.Seconds(), mb(worst.bytes)
			r.SealPauseP99MS, r.SealPauseMaxMS = percentiles(pauses)
			r.RememberedMilli = float64(f.events) / 1e6
			r.HeapMB = mb(heapInUse())
			return nil
		})
		if err != nil {
			return nil, err
		}
		rows = append(rows, r.told())
	}
	return rows, nil
}

// hotTrip: 5,000 positions a second of one trip, up to its limit of 20,000.
func hotTrip() (rows []row, err error) {
	for _, again := range []int{0, 30} { // of a thousand come twice
		r := row{Size: fmt.Sprintf("5000 events/s of one trip, %d of 1000 again", again)}
		err := inWorld(1, func(w *world) error {
			f := newFleet(1, 0)
			f.perSecond, f.again = 5000, again
			if err := f.begin(w); err != nil {
				return err
			}
			used, err := f.measured(w, 19_000)
			if err != nil {
				return err
			}
			r.CPUPerEvent, r.AllocsPerEvent = used.perEvent()
			c, err := w.checkpoint()
			r.SealPauseP99MS, r.SealPauseMaxMS = percentiles(c.pauses)
			return err
		})
		if err != nil {
			return nil, err
		}
		rows = append(rows, r.told())
	}
	return rows, nil
}

// partitionCounts: the same trips on more partitions.
func partitionCounts(scale int) (rows []row, err error) {
	for _, n := range []int{24, 48, 240} {
		r := row{Size: fmt.Sprintf("%d partitions, %d trips", n, 96_000/scale)}
		err := inWorld(n, func(w *world) error {
			f := newFleet(96_000/scale, aMinute)
			if err := f.begin(w); err != nil {
				return err
			}
			if err := f.drive(w, 5); err != nil {
				return err
			}
			used, err := f.measured(w, 10)
			if err != nil {
				return err
			}
			r.CPUPerEvent, r.AllocsPerEvent = used.perEvent()
			c, err := w.checkpoint()
			r.CheckpointS, r.CheckpointCPUS, r.CheckpointMB = c.wall.Seconds(), c.cpu.Seconds(), mb(c.bytes)
			r.SealPauseP99MS, r.SealPauseMaxMS = percentiles(c.pauses)
			r.HeapMB = mb(heapInUse())
			return err
		})
		if err != nil {
			return nil, err
		}
		rows = append(rows, r.told())
	}
	return rows, nil
}

// told prints the row for people as soon as it is there.
func (r row) told() row {
	var b strings.Builder
	say := func(format string, v float64) {
		if v != 0 {
			fmt.Fprintf(&b, "  "+format, v)
		}
	}
	say("%.2f us CPU an event", r.CPUPerEvent)
	say("%.3f allocations", r.AllocsPerEvent)
	say("%.0f B a trip", r.BytesPerTrip)
	say("%.0f MB of heap", r.HeapMB)
	say("%.1f million remembered", r.RememberedMilli)
	say("checkpoint %.2f s", r.CheckpointS)
	say("(%.2f s CPU)", r.CheckpointCPUS)
	say("%.1f MB new", r.CheckpointMB)
	say("pause p99 %.2f ms", r.SealPauseP99MS)
	say("max %.2f ms", r.SealPauseMaxMS)
	fmt.Fprintf(os.Stderr, "%-45s%s\n", r.Size, b.String())
	return r
}
