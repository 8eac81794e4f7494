package inputs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/actors/expression"
	"taximeter/actors/rule"
	"taximeter/cmd/internal/city"
	"taximeter/cmd/internal/dev"
	"taximeter/cmd/internal/lakecheck"
	"taximeter/cmd/internal/recordings"
	"taximeter/cmd/internal/simulation"
	"taximeter/cmd/internal/world"
	"taximeter/schemas"
	"taximeter/schemas/edge"
)

// Input is events to run, and how.
type Input struct {
	Name        string
	Write       func(context.Context, io.Writer) error // writes the event file
	Tariffs     []schemas.Tariff
	Rules       []schemas.Rule
	MaxSpeedKmh float64
}

// cityStart is the instant of the first generated event. Any would do.
const cityStart = schemas.Millis(1_767_592_800_000)

// Generated is a stretch of the simulated city.
func Generated(seed uint64, events int64) Input {
	return Input{Name: "generated", Tariffs: city.Tariffs(cityStart), Rules: city.Rules(cityStart), MaxSpeedKmh: 160,
		Write: func(_ context.Context, to io.Writer) error {
			cfg := city.Default(seed, cityStart)
			cfg.Events, cfg.EventsPerSecond = events, 50
			c, err := city.New(cfg)
			if err != nil {
				return err
			}
			w := edge.NewWriter(to)
			for line, ok := c.Next(); ok; line, ok = c.Next() {
				if err := w.Write(line); err != nil {
					return err
				}
			}
			return w.Flush()
		}}
}

// Porto is the real trips of the folder of reference recordings. They are not filtered: the
// reference was not either.
func Porto(shared string) Input {
	inputs := []string{filepath.Join(shared, "data", "porto_trips.csv.gz"), filepath.Join(shared, "data", "porto_points.csv.gz")}
	return Input{Name: "porto", MaxSpeedKmh: 0,
		Tariffs: []schemas.Tariff{{TariffID: "porto", Region: schemas.Any, Category: schemas.Any, Currency: "EUR", Base: 2_500_000,
			PerKm: 800_000, PerMin: 200_000, Minimum: 4_000_000, CancelFee: 3_000_000, GraceS: 120}},
		Write: func(ctx context.Context, to io.Writer) error {
			_, err := recordings.Convert(ctx, "porto", inputs, to)
			return err
		}}
}

// Run takes the input through the whole program, with lake and analytical tables, and
// through simulate. dir, which must not be there yet, keeps everything.
func Run(ctx context.Context, in Input, dir string, log *slog.Logger) (lakecheck.Case, error) {
	o := dev.DefaultOptions()
	c := lakecheck.Case{Name: in.Name, Partitions: o.Partitions, Database: "taximeter",
		Events: filepath.Join(dir, "events.jsonl"), Lake: filepath.Join(dir, "data", "lake"), Analytics: filepath.Join(dir, "data", "analytics.db"),
		Expected: filepath.Join(dir, "expected"), Published: filepath.Join(dir, "published")}
	var text bytes.Buffer
	if err := in.Write(ctx, &text); err != nil {
		return c, fmt.Errorf("%s: %w", in.Name, err)
	}
	if err := errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(c.Events, text.Bytes(), 0o600)); err != nil {
		return c, err
	}
	o.Data, o.Out, o.Events, o.UntilDone = filepath.Join(dir, "data"), c.Published, []string{c.Events}, true
	o.Tariffs, o.Rules, o.MaxSpeedKmh = in.Tariffs, in.Rules, in.MaxSpeedKmh
	o.KafkaPort, o.RegistryPort, o.AdminPort = 0, 0, 0
	o.Log, o.Say = log, io.Discard
	if _, err := dev.Run(ctx, o); err != nil {
		return c, fmt.Errorf("%s: run the program: %w", in.Name, err)
	}
	if err := simulate(ctx, in, c); err != nil {
		return c, fmt.Errorf("%s: simulate: %w", in.Name, err)
	}
	listed, err := ends(ctx, o.Data, c.Partitions, log)
	if err == nil {
		err = c.SetEnds(listed)
	}
	if err != nil {
		return c, fmt.Errorf("%s: ends of the topics: %w", in.Name, err)
	}
	return c, nil
}

func simulate(ctx context.Context, in Input, c lakecheck.Case) error {
	compile, err := expression.NewCompiler()
	if err != nil {
		return err
	}
	book, err := rule.NewBook(in.Rules, compile)
	if err != nil {
		return err
	}
	_, err = simulation.Run(ctx, simulation.Options{Events: []string{c.Events}, Tariffs: in.Tariffs, Rules: book,
		MaxSpeedKmh: in.MaxSpeedKmh, Partitions: c.Partitions, Out: c.Expected})
	return err
}

// ends starts the broker of the run again and asks it for the end offsets.
func ends(ctx context.Context, data string, partitions int, log *slog.Logger) (listed kadm.ListedOffsets, err error) {
	w, err := world.Start(ctx, world.Options{Dir: data, Partitions: partitions, Log: log})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	client, err := kgo.NewClient(kgo.SeedBrokers(w.Brokers()...))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	listed, err = kadm.NewClient(client).ListEndOffsets(ctx, schemas.TopicTelemetry, schemas.TopicRides, schemas.TopicPayments)
	if err == nil {
		err = listed.Error()
	}
	return listed, err
}
