// Command latency measures how long after their due instant alerts and bills are readable,
// at a paced rate of events. It ends with one JSON line.
//
// See bench/README.md. Start reading at bench.run; probe.go says what is measured.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"time"

	"taximeter/actors/ingest"
	"taximeter/bench/internal/load"
	"taximeter/bench/internal/rig"
	"taximeter/bench/internal/traffic"
	"taximeter/cluster/node"
	"taximeter/cluster/node/embedded"
	"taximeter/schemas"
)

func main() { rig.Main(run) }

// past is how much event time is in the log before the processor starts: enough that bills
// fall due from the first measured second on.
const past = boundedDisorder + 30*time.Second

// settling is how long the processor may take to catch up before the measure begins.
const settling = 10 * time.Second

type bench struct {
	rate       int
	probeRate  int
	seconds    int
	partitions int
	checkpoint time.Duration
	profiles   string
	dir        string

	where    rig.Where
	probes   probes
	pacers   []*pacer
	from, to time.Time // the measured due instants
}

func run(ctx context.Context) error {
	b := &bench{}
	flag.IntVar(&b.rate, "rate", 750, "events per second, probes included")
	flag.IntVar(&b.probeRate, "probes", 50, "probe trips per second, of four events each")
	flag.IntVar(&b.seconds, "seconds", 60, "how long to measure")
	flag.IntVar(&b.partitions, "partitions", 24, "partitions of the input topics")
	flag.DurationVar(&b.checkpoint, "checkpoint", 30*time.Second, "time between checkpoints")
	flag.StringVar(&b.profiles, "profiles", "", "folder for the processor's cpu.pprof and allocs.pprof")
	flag.Parse()
	if flag.NArg() > 0 || b.probeRate < 1 || b.rate < 5*b.probeRate || b.seconds < 1 || b.partitions < 1 {
		flag.Usage()
		return errors.New("bad flags: --rate must be at least five times --probes")
	}
	var err error
	if b.dir, err = os.MkdirTemp("", "taximeter-latency-"); err != nil {
		return err
	}
	return errors.Join(b.run(ctx), os.RemoveAll(b.dir))
}

func (b *bench) run(ctx context.Context) (err error) {
	var broker *rig.Process
	broker, b.where, err = rig.StartBroker(ctx, rig.BrokerSpec{Partitions: int32(b.partitions), AppendTimes: embedded.AppendTimesFromBroker})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, broker.Stop()) }()
	b.say("loading the last %s", past)
	if err := b.load(ctx); err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, len(b.pacers)+1)
	for _, p := range b.pacers {
		go func() { ended <- p.run(running) }()
	}
	processor, err := rig.StartProcessor(ctx, rig.ProcessorSpec{Where: b.where, Dir: b.dir, Mode: node.Live,
		AppendTimes: ingest.AppendTimesFromRecords, Checkpoint: b.checkpoint, Profiles: b.profiles})
	if err != nil {
		return err
	}
	b.from = time.Now().Add(settling)
	b.to = b.from.Add(time.Duration(b.seconds) * time.Second)
	alerts, bills := newGauge(b.probes.alertDue, b.from, b.to), newGauge(b.probes.billDue, b.from, b.to)
	r, err := newReader(b.where.Brokers, b.where.Registry, alerts, bills)
	if err != nil {
		return err
	}
	go func() { ended <- r.run(running) }()

	b.say("measuring for %d s, and waiting for the last bills", b.seconds)
	cpu, err := b.measure(running, ended, processor)
	if err != nil {
		return err
	}
	if err := b.wait(running, ended, time.Now().Add(b.checkpoint+10*time.Second)); err != nil {
		return err
	}
	if err := processor.Dismiss(); err != nil {
		return err
	}
	var report rig.Processed
	if err := processor.Hear(&report); err != nil {
		return err
	}
	stop()
	for range cap(ended) {
		err = errors.Join(err, <-ended)
	}
	if err := errors.Join(err, processor.Stop()); err != nil {
		return err
	}
	return b.tell(alerts, bills, cpu, &report)
}

// load sends the past, by which the processor will know of trips that end before it starts.
func (b *bench) load(ctx context.Context) error {
	began := time.Now().Add(-past).Truncate(time.Millisecond)
	start := schemas.Millis(began.UnixMilli())
	b.probes = probes{start: began, every: time.Second / time.Duration(b.probeRate)}
	cfg := traffic.Mixed()
	cfg.Start, cfg.PerSecond = start, float64(b.rate-4*b.probeRate)
	cfg.Wait, cfg.Ride, cfg.Every = 20*schemas.Second, 60*schemas.Second, 7*schemas.Second // steady before the measure begins
	for _, s := range []source{background(traffic.New(cfg)), probing(b.probes)} {
		loader, err := load.New(ctx, load.Options{Brokers: b.where.Brokers, Registry: b.where.Registry, Compression: "lz4", BatchBytes: 64 << 10, Linger: 5 * time.Millisecond})
		if err != nil {
			return err
		}
		if len(b.pacers) == 0 {
			if err := loader.Catalogue(ctx, traffic.Tariffs(start), traffic.Rules(start)); err != nil {
				return err
			}
		}
		b.pacers = append(b.pacers, &pacer{next: s, loader: loader})
	}
	for _, p := range b.pacers {
		if err := errors.Join(p.backlog(ctx), p.loader.Flush(ctx)); err != nil {
			return err
		}
	}
	return nil
}

// measure waits from b.from to b.to; the result is the processor's CPU time in between.
func (b *bench) measure(ctx context.Context, ended <-chan error, processor *rig.Process) (time.Duration, error) {
	if err := b.wait(ctx, ended, b.from); err != nil {
		return 0, err
	}
	before, err := processor.CPU()
	if err != nil {
		return 0, err
	}
	if err := b.wait(ctx, ended, b.to); err != nil {
		return 0, err
	}
	after, err := processor.CPU()
	return after - before, err
}

// wait until an instant, unless something ends before.
func (b *bench) wait(ctx context.Context, ended <-chan error, until time.Time) error {
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case err := <-ended:
		return errors.Join(errors.New("the bench stopped in mid-run"), err)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (b *bench) say(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

// result is the closing line; latencies are in milliseconds from the due instant to a
// consumer having it.
type result struct {
	Rate           int       `json:"events_per_s"`
	Seconds        int       `json:"seconds"`
	Alerts         quantiles `json:"alerts_ms"`
	Bills          quantiles `json:"bills_after_due_ms"`
	CPUPercent     float64   `json:"cpu_percent_of_machine"`
	CPU            float64   `json:"cpu_us_per_event"`
	PacerBehind    float64   `json:"pacer_behind_ms"` // worst since the processor began; it counts as latency
	SealPause      float64   `json:"seal_pause_ms"`   // of the last checkpoint, the longest of the partitions
	PeakRSS        float64   `json:"peak_rss_mb"`
	CheckpointEach string    `json:"checkpoint"`
}

type quantiles struct {
	Count   int64   `json:"count"`
	P50     float64 `json:"p50"`
	P99     float64 `json:"p99"`
	P9999   float64 `json:"p99_99"`
	Max     float64 `json:"max"`
	Missing int64   `json:"missing"`
	Again   int64   `json:"again"`
	Early   int64   `json:"early"`
}

func (b *bench) quantiles(g *gauge) quantiles {
	ms := func(us int64) float64 { return float64(us) / 1000 }
	h := g.latencies
	q := quantiles{Count: h.TotalCount(), P50: ms(h.ValueAtQuantile(50)), P99: ms(h.ValueAtQuantile(99)), P9999: ms(h.ValueAtQuantile(99.99)),
		Max: ms(h.Max()), Again: g.again, Early: g.early}
	for n := 0; g.due(n).Before(b.to); n++ {
		if !g.due(n).Before(b.from) && !g.seen[n] {
			q.Missing++
		}
	}
	return q
}

func (b *bench) tell(alerts, bills *gauge, cpu time.Duration, p *rig.Processed) error {
	seconds := float64(b.seconds)
	r := result{Rate: b.rate, Seconds: b.seconds, Alerts: b.quantiles(alerts), Bills: b.quantiles(bills),
		CPUPercent: 100 * cpu.Seconds() / seconds / float64(runtime.NumCPU()), CPU: float64(cpu.Microseconds()) / seconds / float64(b.rate),
		SealPause: float64(p.SealPauseMax.Microseconds()) / 1000, PeakRSS: float64(p.PeakRSS) / (1 << 20), CheckpointEach: b.checkpoint.String()}
	for _, x := range b.pacers {
		r.PacerBehind = max(r.PacerBehind, float64(x.behind.Microseconds())/1000)
	}
	for _, q := range []struct {
		name string
		quantiles
	}{{"alerts", r.Alerts}, {"bills after due", r.Bills}} {
		b.say("%-16s %6d: p50 %9.1f ms, p99 %9.1f ms, p99.99 %9.1f ms, max %9.1f ms; %d missing, %d again, %d early",
			q.name, q.Count, q.P50, q.P99, q.P9999, q.Max, q.Missing, q.Again, q.Early)
	}
	b.say("processor: %.1f %% of %d CPUs, %.1f us per event; longest pause of the last cut %.1f ms", r.CPUPercent, runtime.NumCPU(), r.CPU, r.SealPause)
	if err := json.NewEncoder(os.Stdout).Encode(r); err != nil {
		return err
	}
	if n := r.Alerts.Missing + r.Alerts.Again + r.Bills.Missing + r.Bills.Again + r.Bills.Early; n > 0 {
		return fmt.Errorf("%d alerts or bills are missing, came again or too early: the run is void", n)
	}
	return nil
}
