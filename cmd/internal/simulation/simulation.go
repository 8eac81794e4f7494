package simulation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"taximeter/actors/partition"
	"taximeter/actors/rule"
	"taximeter/cmd/internal/events"
	"taximeter/schemas"
	"taximeter/schemas/edge"
)

// Options of a run.
type Options struct {
	Events      []string // files, read one after the other
	Tariffs     []schemas.Tariff
	Rules       *rule.Book // nil = no alerts
	MaxSpeedKmh float64    // track filter; 0 = no filter
	Partitions  int        // as many as the input topics have
	Out         string     // folder of the results; made if it is not there
	// OnProgress, if set, is told now and then how much of the files was read.
	OnProgress func(read, size int64)
}

// Validate tells all that is wrong with the options.
func (o *Options) Validate() error {
	var faults []error
	if len(o.Events) == 0 {
		faults = append(faults, errors.New("no event files; give --events FILE"))
	}
	if o.Partitions < 1 || o.Partitions > maxPartitions {
		faults = append(faults, fmt.Errorf("%d partitions; give a number from 1 to %d", o.Partitions, maxPartitions))
	}
	if !(o.MaxSpeedKmh >= 0) {
		faults = append(faults, fmt.Errorf("a limit of %v km/h; give 0 (no filter) or more", o.MaxSpeedKmh))
	}
	return errors.Join(faults...)
}

const maxPartitions = 10_000

// Run reads all the events and writes bills.jsonl, windows.jsonl, alerts.jsonl, dlq.jsonl
// and verdicts.json: all of them or, on an error, none.
func Run(ctx context.Context, o Options) (_ Summary, err error) {
	began := time.Now()
	if err := o.Validate(); err != nil {
		return Summary{}, err
	}
	if err := MakeWay(o.Out, o.Events...); err != nil {
		return Summary{}, err
	}
	files, err := events.Open(o.Events, edge.WithRawDecoder(judgeRaw))
	if err != nil {
		return Summary{}, err
	}
	out, err := createResults(o.Out)
	if err != nil {
		return Summary{}, err
	}
	defer func() { err = errors.Join(err, out.discard()) }() // also on the way of a panic
	s, err := newSimulation(o, out)
	if err != nil {
		return Summary{}, err
	}
	if err := s.run(ctx, files); err != nil {
		return Summary{}, err
	}
	if err := out.publish(s.verdicts()); err != nil {
		return Summary{}, err
	}
	return s.summary(time.Since(began)), nil
}

type simulation struct {
	options Options
	tasks   []*partition.Partition
	next    [][schemas.NumInputs]schemas.Offset
	read    int64
	out     *results
}

func newSimulation(o Options, out *results) (*simulation, error) {
	settings := partition.DefaultSettings()
	settings.Trip.MaxSpeedKmh = o.MaxSpeedKmh
	settings.Trip.Horizon = 0 // the whole file is at hand: nothing is ever too late
	rules := o.Rules
	if rules == nil {
		rules = &rule.Book{}
	}
	s := &simulation{options: o, out: out, next: make([][schemas.NumInputs]schemas.Offset, o.Partitions)}
	for id := range o.Partitions {
		p := partition.New(schemas.Partition(id), partition.File, settings, rules, partition.Direct{}, nil, 0)
		for i, t := range o.Tariffs {
			if err := p.PutTariff(schemas.Offset(i), t); err != nil {
				return nil, err
			}
		}
		s.tasks = append(s.tasks, p)
	}
	return s, nil
}

func (s *simulation) run(ctx context.Context, files *events.Files) error {
	err := readAll(ctx, files, s.options.Partitions, func(c *chunk) error {
		if s.options.OnProgress != nil {
			s.options.OnProgress(files.Read(), files.Size())
		}
		return s.consume(c)
	})
	if err != nil {
		return err
	}
	for _, p := range s.tasks {
		if err := p.EndInput(); err != nil {
			return err
		}
		if err := s.out.take(p, valueIsJSON); err != nil {
			return err
		}
	}
	return s.balance()
}

// consume takes the records one by one: results must come out in the order of the file,
// whatever partition a record falls into.
func (s *simulation) consume(c *chunk) error {
	for i := range c.records {
		r, at := &c.records[i], c.places[i]
		next := &s.next[at.partition][r.Topic]
		r.Offset = *next
		*next++
		s.read++
		p := s.tasks[at.partition]
		b := schemas.Batch{Partition: at.partition, Records: c.records[i : i+1]}
		if err := p.Consume(&b, 0); err != nil {
			return err
		}
		if err := s.out.take(p, at.value); err != nil {
			return err
		}
	}
	return nil
}

// balance is the proof that nothing is lost: every record read has one verdict.
func (s *simulation) balance() error {
	total := int64(0)
	for _, p := range s.tasks {
		for _, n := range p.Ledger().Verdicts {
			total += n
		}
	}
	if total != s.read {
		return fmt.Errorf("a bug in taximeter: %d records were read and %d got a verdict; please report it", s.read, total)
	}
	return nil
}
