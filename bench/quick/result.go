package main

import (
	"fmt"
	"io"
	"time"

	"taximeter/bench/internal/oracle"
	"taximeter/bench/internal/rig"
	"taximeter/bench/internal/traffic"
)

// result is the closing line. CPU is user and system time of a process, the processor's
// from before its start to everything committed and published.
type result struct {
	CPU         float64 `json:"cpu_us_per_event"`
	Bare        float64 `json:"bare_consumer_cpu_us"` // per event, mean of two runs
	Ratio       float64 `json:"ratio"`
	Rate        float64 `json:"events_per_s"` // wall, on a machine shared with the broker
	Allocs      float64 `json:"allocs_per_event"`
	PeakRSS     float64 `json:"peak_rss_mb"`
	Differences int     `json:"oracle_differences"`

	AllocBytes  float64 `json:"alloc_bytes_per_event"`
	State       float64 `json:"state_mb"` // cited by the last checkpoint
	Events      int64   `json:"events"`
	ValueBytes  float64 `json:"value_bytes_per_event"`
	Bills       int     `json:"bills"`
	Windows     int     `json:"windows"`
	Checkpoints int64   `json:"manifests"`
	Processes   int     `json:"processes"`
	Shape       string  `json:"shape"`
	Compression string  `json:"compression"`

	counts        traffic.Counts
	processed     rig.Processed
	before, after rig.Bare
}

func (b *bench) result(p rig.Processed, before, after rig.Bare, got *oracle.Results, differences int) *result {
	n := float64(b.log.Counts.Records)
	perEvent := func(d time.Duration) float64 { return rounded(float64(d) / float64(time.Microsecond) / n) }
	r := &result{CPU: perEvent(p.CPU()), Bare: perEvent((before.CPU() + after.CPU()) / 2), Rate: float64(int(n / p.Wall.Seconds())),
		Allocs: rounded(float64(p.Mallocs) / n), PeakRSS: rounded(float64(p.PeakRSS) / (1 << 20)), Differences: differences,
		AllocBytes: rounded(float64(p.Bytes) / n), State: rounded(float64(p.StateBytes) / (1 << 20)), Events: b.log.Counts.Records,
		ValueBytes: rounded(float64(b.log.Bytes) / n), Bills: len(got.Bills), Windows: len(got.Windows), Checkpoints: p.Checkpoints, Processes: b.processes,
		Shape: b.shape, Compression: b.compression, counts: b.log.Counts, processed: p, before: before, after: after}
	r.Ratio = rounded(r.CPU / r.Bare)
	return r
}

func rounded(x float64) float64 { return float64(int64(x*100+0.5)) / 100 }

// print tells it to a person.
func (r *result) print(w io.Writer) {
	n := float64(r.Events)
	share := func(x int64) float64 { return 100 * float64(x) / n }
	fmt.Fprintf(w, "\n%d records of %.0f bytes, %d trips: %.1f %% telemetry, %.2f %% repeated, %.2f %% late, %.3f %% very late, %.2f %% invalid, %d from the future\n",
		r.Events, r.ValueBytes, r.counts.Trips, share(r.counts.Telemetry), share(r.counts.Repeated), share(r.counts.Late), share(r.counts.VeryLate),
		share(r.counts.Invalid), r.counts.Future)
	line := func(name string, u rig.Usage) {
		us := func(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) / n }
		fmt.Fprintf(w, "%-15s %6.2f us CPU per event (user %.2f, system %.2f), %6.2f s, %6.0f events/s, %5.2f allocations of %5.0f bytes per event, %d GCs\n",
			name, us(u.CPU()), us(u.User), us(u.System), u.Wall.Seconds(), n/u.Wall.Seconds(), float64(u.Mallocs)/n, float64(u.Bytes)/n, u.GCs)
	}
	line("bare consumer", r.before.Usage)
	line("processor", r.processed.Usage)
	line("bare consumer", r.after.Usage)
	fmt.Fprintf(w, "published: %d bills, %d windows, %d dead letters; state %.1f MB, peak memory %.0f MB, longest pause of the last cut %s\n\n",
		r.Bills, r.Windows, r.processed.DeadLetters, r.State, r.PeakRSS, r.processed.SealPauseMax.Round(time.Microsecond))
}
