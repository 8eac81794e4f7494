package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
)

// limits are what a run may cost at most, for CI: figures a little above what the program
// costs now. Allocations hardly depend on the machine and are held closely. Instructions
// cannot be counted on most virtual machines; the CPU time stands in their place as a ratio
// to the bare consumer of the same run, whose margin must be wide: the processor suffers
// more than the consumer when others fight for the caches.
type limits struct {
	Allocs     float64 `json:"allocs_per_event"`
	AllocBytes float64 `json:"alloc_bytes_per_event"`
	Ratio      float64 `json:"ratio"`
}

func readLimits(file string) (l limits, err error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return l, err
	}
	if err := json.Unmarshal(b, &l); err != nil {
		return l, fmt.Errorf("limits in %s: %w", file, err)
	}
	if l.Allocs <= 0 || l.AllocBytes <= 0 || l.Ratio <= 0 {
		return l, fmt.Errorf("limits in %s: write all of allocs_per_event, alloc_bytes_per_event and ratio", file)
	}
	return l, nil
}

// check tells every figure of a run that is beyond its limit.
func (l limits) check(r *result) error {
	over := func(name string, is, most float64) error {
		if is <= most {
			return nil
		}
		return fmt.Errorf("%s is %.2f, at most %.2f is allowed: find what it was (-profiles), or raise the limit and say why in the commit", name, is, most)
	}
	return errors.Join(
		over("allocs_per_event", r.Allocs, l.Allocs),
		over("alloc_bytes_per_event", r.AllocBytes, l.AllocBytes),
		over("ratio", r.Ratio, l.Ratio),
	)
}
