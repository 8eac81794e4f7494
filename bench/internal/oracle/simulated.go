package oracle

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"taximeter/schemas"
)

// Files of a simulation: what goes in, and the folder of what comes out.
type Files struct {
	Taximeter  string // the program
	Events     string
	Tariffs    string // schemas.Tariff as JSON
	Partitions int32
	Out        string
}

// Simulate runs `taximeter simulate` and reads its results.
func Simulate(ctx context.Context, f Files) (*Results, error) {
	cmd := exec.CommandContext(ctx, f.Taximeter, "simulate", "--events", f.Events, "--tariffs", f.Tariffs,
		"--partitions", fmt.Sprint(f.Partitions), "--out", f.Out)
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("simulate the events: %w", err)
	}
	r := newResults()
	return r, errors.Join(lines(filepath.Join(f.Out, "bills.jsonl"), r.bill), lines(filepath.Join(f.Out, "windows.jsonl"), r.window))
}

func lines[T any](path string, take func(T)) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	values := json.NewDecoder(bufio.NewReaderSize(file, 1<<20))
	for {
		var v T
		if err := values.Decode(&v); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		take(v)
	}
}

// WriteTariffs writes the tariffs in the form that simulate reads.
func WriteTariffs(path string, all []schemas.Tariff) error {
	text, err := json.Marshal(all)
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}
