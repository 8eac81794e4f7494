package chaos

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"taximeter/actors/expression"
	"taximeter/actors/rule"
	"taximeter/cmd/internal/city"
	"taximeter/cmd/internal/published"
	"taximeter/cmd/internal/simulation"
	"taximeter/schemas"
	"taximeter/schemas/edge"
)

const (
	// cityStart is the instant of the first event. Any would do.
	cityStart = schemas.Millis(1_767_592_800_000)
	// leastRate keeps every topic of every partition busy: where one is silent for minutes of
	// event time, the meter holds the others back, and when it does depends on timing.
	leastRate = 5
	// partitionRate does the same where there are many partitions.
	partitionRate = 1.25
)

// cityRate is the city's events per second of its own time.
func (s Scenario) cityRate() float64 {
	return max(leastRate, partitionRate*float64(s.Partitions), s.City)
}

// material is what a run works on and what must come out.
type material struct {
	file     string // of the events
	tariffs  []schemas.Tariff
	rules    []schemas.Rule
	records  map[schemas.Partition]int64 // by partition
	expected published.Results
	letters  map[schemas.Partition]int64
	// resent: the broker went down while events were sent, and their producer may have had to
	// send some again. The meter then counts them as duplicates.
	resent bool
	again  bool // all was sent twice: what is dead is dead twice, the rest a duplicate
}

// generate writes the scenario's events to a file and has them simulated.
func generate(ctx context.Context, s Scenario, dir string) (*material, error) {
	cfg := city.Default(s.Seed, cityStart)
	cfg.EventsPerSecond, cfg.Events = s.cityRate(), s.Events
	living, err := city.New(cfg)
	if err != nil {
		return nil, err
	}
	var lines []edge.Line
	for line, ok := living.Next(); ok; line, ok = living.Next() {
		lines = append(lines, *line)
	}
	// The meter takes what was appended at the same instant in the order of the topics.
	slices.SortStableFunc(lines, func(a, b edge.Line) int {
		return cmp.Or(cmp.Compare(a.AppendedAt, b.AppendedAt), cmp.Compare(a.Topic, b.Topic))
	})
	m := &material{file: filepath.Join(dir, "events.jsonl"), tariffs: city.Tariffs(cityStart), rules: append(city.Rules(cityStart), s.Rules...),
		records: make(map[schemas.Partition]int64), letters: make(map[schemas.Partition]int64),
		resent: slices.ContainsFunc(s.Lives, func(l Life) bool { return l.End == Rebooted })}
	if err := m.write(lines, s.Partitions); err != nil {
		return nil, err
	}
	if s.Again {
		for p := range m.records {
			m.records[p] *= 2
		}
		m.again = true
	}
	return m, m.simulate(ctx, s, filepath.Join(dir, "expected"))
}

// write makes the file of the events and counts them.
func (m *material) write(lines []edge.Line, partitions int) (err error) {
	file, err := os.Create(m.file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	w := edge.NewWriter(file)
	for i := range lines {
		if err := w.Write(&lines[i]); err != nil {
			return err
		}
		m.records[schemas.PartitionOf(lines[i].RecordKey(), partitions)]++
	}
	return w.Flush()
}

func (m *material) simulate(ctx context.Context, s Scenario, out string) error {
	compile, err := expression.NewCompiler()
	if err != nil {
		return err
	}
	book, err := rule.NewBook(m.rules, compile)
	if err != nil {
		return err
	}
	if _, err := simulation.Run(ctx, simulation.Options{Events: []string{m.file}, Tariffs: m.tariffs, Rules: book, MaxSpeedKmh: 160,
		Partitions: s.Partitions, Out: out}); err != nil {
		return fmt.Errorf("simulate: %w", err)
	}
	var letters []struct {
		Partition schemas.Partition `json:"partition"`
	}
	err = errors.Join(read(out, simulation.BillsFile, &m.expected.Bills), read(out, simulation.WindowsFile, &m.expected.Windows),
		read(out, simulation.AlertsFile, &m.expected.Alerts), read(out, simulation.DeadLettersFile, &letters))
	for _, l := range letters {
		m.letters[l.Partition]++
	}
	return err
}

// read decodes a file of JSON lines.
func read[T any](dir, name string, into *[]T) error {
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	for d := json.NewDecoder(bytes.NewReader(data)); ; {
		var x T
		if err := d.Decode(&x); err == io.EOF {
			return nil
		} else if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		*into = append(*into, x)
	}
}
