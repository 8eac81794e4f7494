package dev

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"taximeter/cmd/internal/feed"
	"taximeter/schemas"
	"taximeter/sinks"
)

// Options of a run.
type Options struct {
	Data      string   // folder
	Events    []string // event files; none = the city
	Speed     feed.Speed
	UntilDone bool
	Out       string // with UntilDone: folder for what was published

	Tariffs     []schemas.Tariff // nil = those in Data, else the city's
	Rules       []schemas.Rule   // nil = those in Data, else the city's, or none with Events
	MaxSpeedKmh float64
	Tables      bool // with lake and analytical tables

	Seed uint64  // of the city
	Rate float64 // events per second of the city

	Partitions                         int
	KafkaPort, RegistryPort, AdminPort int // 0 = any free one
	Checkpoint                         time.Duration

	Program string // how this program was called, for commands to copy
	Log     *slog.Logger
	Say     io.Writer // where a person reads what happens
	// OnProgress is told how much of the event files was sent, OnProduced that it was all.
	OnProgress func(read, size int64)
	OnProduced func()

	tables []sinks.Configured // more, for tests
}

// DefaultOptions are those of a run without flags.
func DefaultOptions() Options {
	return Options{Tables: true, Speed: 1, MaxSpeedKmh: 160, Seed: 1, Rate: 50, Partitions: 24, Program: "taximeter", KafkaPort: 9092, RegistryPort: 8081, AdminPort: 8080,
		Checkpoint: 5 * time.Second}
}

// Validate tells all that is wrong with the options.
func (o *Options) Validate() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if o.UntilDone && len(o.Events) == 0 {
		fault("--until-done needs --events: the city has no end; `taximeter generate` writes some of it to a file")
	}
	if o.Out != "" && !o.UntilDone {
		fault("--out needs --until-done: results of a run without end are on the topics; see `taximeter consume`")
	}
	if !(o.MaxSpeedKmh >= 0) {
		fault("--max-speed-kmh %v: give 0 (no filter) or more", o.MaxSpeedKmh)
	}
	if !(o.Rate > 0 && o.Rate <= 100_000) {
		fault("--rate %v: give 0.1 to 100000 events per second", o.Rate)
	}
	if o.Partitions < 1 || o.Partitions > 1000 {
		fault("--partitions %d: give 1 to 1000", o.Partitions)
	}
	taken := make(map[int]string)
	for _, p := range o.ports() {
		if p.port < 0 || p.port > 65535 {
			fault("%s %d: give 0 to 65535", p.flag, p.port)
		} else if other := taken[p.port]; other != "" && p.port != 0 {
			fault("%s %d: %s is the same; give 0 for any free one", p.flag, p.port, other)
		}
		taken[p.port] = p.flag
	}
	if o.Checkpoint < time.Second || o.Checkpoint > 5*time.Minute {
		fault("--checkpoint %s: give 1s to 5m", o.Checkpoint)
	}
	return errors.Join(faults...)
}
