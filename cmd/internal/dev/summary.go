package dev

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"taximeter/cluster/admin"
	"taximeter/cmd/internal/outfile"
	"taximeter/cmd/internal/published"
	"taximeter/cmd/internal/simulation"
	"taximeter/cmd/internal/ui"
	"taximeter/schemas"
)

// Summary is what a run until done did. Bills and windows are those that stand, read back
// from the output topics.
type Summary struct {
	Records        int64                    `json:"registros"`
	Verdicts       map[string]int64         `json:"vereditos"`
	Control        int64                    `json:"controle"`  // offsets of transaction markers
	Anomalies      map[string]int64         `json:"anomalias"` // those that occurred
	Trips          int                      `json:"viagens"`   // with a bill or a window
	Windows        int                      `json:"janelas"`
	WindowVersions int                      `json:"versoesJanelas"`
	DistanceMM     int64                    `json:"distanciaMM"` // of the windows
	Bills          int                      `json:"faturas"`
	BillVersions   int                      `json:"versoesFaturas"`
	BilledMM       int64                    `json:"distanciaFaturadaMM"`
	BilledS        int64                    `json:"duracaoFaturadaS"`
	Amounts        map[string]schemas.Cents `json:"valores"` // by currency
	Alerts         int                      `json:"alertas"`
	DeadLetters    int                      `json:"dlq"`
	Seconds        float64                  `json:"segundos"`            // from the node's start to everything published
	EventsPerS     float64                  `json:"eventosPorS"`         // Records / Seconds
	CPUus          float64                  `json:"cpuMicrosPorEvento"`  // of this process, broker and registry included
	Partitions     map[string]verdictCounts `json:"particoes,omitempty"` // verdicts by partition
	Out            string                   `json:"pasta,omitempty"`
}

type verdictCounts map[string]int64

func summarize(partitions []admin.PartitionStatus, r *published.Results, took, cpu time.Duration) *Summary {
	s := &Summary{Verdicts: make(map[string]int64), Anomalies: make(map[string]int64), Amounts: make(map[string]schemas.Cents),
		Partitions: make(map[string]verdictCounts), WindowVersions: len(r.Windows), BillVersions: len(r.Bills), Alerts: len(r.Alerts),
		DeadLetters: len(r.Letters), Seconds: took.Seconds()}
	for _, p := range partitions {
		s.Partitions[strconv.Itoa(int(p.Partition))] = p.Verdicts
		s.Control += p.Control
		for v, n := range p.Verdicts {
			s.Verdicts[v] += n
			s.Records += n
		}
		for k, n := range p.Anomalies {
			s.Anomalies[k] += n
		}
	}
	trips := make(map[schemas.TripID]bool)
	windows := r.FinalWindows()
	for k, w := range windows {
		trips[k.Trip] = true
		s.DistanceMM += w.DistanceMM
	}
	bills := r.FinalBills()
	for id, b := range bills {
		trips[id] = true
		s.Amounts[b.Currency] += b.Amount
		s.BilledMM += b.DistanceMM
		s.BilledS += b.DurationS
	}
	s.Trips, s.Windows, s.Bills = len(trips), len(windows), len(bills)
	s.EventsPerS = float64(s.Records) / took.Seconds()
	s.CPUus = float64(cpu.Microseconds()) / float64(max(s.Records, 1))
	return s
}

// Print tells the summary to a person.
func (s *Summary) Print(w io.Writer) {
	row := func(label, figure, more string) {
		fmt.Fprintln(w, strings.TrimRight(fmt.Sprintf("%-26s %15s  %s", label, figure, more), " "))
	}
	took := time.Duration(s.Seconds * float64(time.Second))
	row("records", ui.Count(s.Records), fmt.Sprintf("in %s, %s", ui.Elapsed(took), ui.Rate(s.Records, took)))
	for v := range schemas.NumVerdicts {
		if n := s.Verdicts[v.String()]; n > 0 {
			row("  "+v.String(), ui.Count(n), "")
		}
	}
	row("trips", ui.Count(s.Trips), "with a bill or a window")
	row("windows", ui.Count(s.Windows), fmt.Sprintf("%s in %s versions", ui.Km(s.DistanceMM), ui.Count(s.WindowVersions)))
	row("bills", ui.Count(s.Bills), fmt.Sprintf("%s, %s in %s versions", ui.Km(s.BilledMM), ui.Seconds(s.BilledS), ui.Count(s.BillVersions)))
	for _, currency := range slices.Sorted(maps.Keys(s.Amounts)) {
		row("  "+currency, ui.Group(s.Amounts[currency].String()), "")
	}
	row("alerts", ui.Count(s.Alerts), "")
	row("dead letters", ui.Count(s.DeadLetters), "")
	for k := range schemas.NumAnomalies {
		if n := s.Anomalies[k.String()]; n > 0 {
			row("anomaly "+k.String(), ui.Count(n), "")
		}
	}
	row("CPU per event", fmt.Sprintf("%.1f us", s.CPUus), "of the whole process: node, embedded broker and registry")
	if s.Out != "" {
		fmt.Fprintf(w, "\nwhat was published is in %s\n", s.Out)
	}
}

// writeOut writes what was published in the files of simulate.
func writeOut(dir string, s *Summary, r *published.Results, letters []simulation.Letter) (err error) {
	var files []*outfile.File
	defer func() {
		for _, f := range files {
			err = errors.Join(err, f.Discard()) // what has its name by now stays
		}
	}()
	create := func(name string) (*json.Encoder, error) {
		f, err := outfile.Create(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		files = append(files, f)
		e := json.NewEncoder(f)
		e.SetEscapeHTML(false)
		return e, nil
	}
	if err := lines(create, simulation.BillsFile, r.Bills); err != nil {
		return err
	}
	if err := lines(create, simulation.WindowsFile, r.Windows); err != nil {
		return err
	}
	if err := lines(create, simulation.AlertsFile, r.Alerts); err != nil {
		return err
	}
	if err := lines(create, simulation.DeadLettersFile, letters); err != nil {
		return err
	}
	verdicts := map[string]any{"total": s.Records, "particoes": s.Partitions}
	for v, n := range s.Verdicts {
		verdicts[v] = n
	}
	e, err := create(simulation.VerdictsFile)
	if err != nil {
		return err
	}
	e.SetIndent("", "  ")
	if err := e.Encode(verdicts); err != nil {
		return err
	}
	return outfile.Publish(files...)
}

func lines[T any](create func(string) (*json.Encoder, error), name string, all []T) error {
	e, err := create(name)
	if err != nil {
		return err
	}
	for i := range all {
		if err := e.Encode(&all[i]); err != nil {
			return err
		}
	}
	return nil
}
