package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"

	"taximeter/bench/internal/rig"
	"taximeter/internal/sqlserver"
)

// variant is what a processor feeds beside Kafka.
type variant struct {
	name  string
	lake  bool
	table sqlserver.Kind // "" = none
}

const embeddedTable = sqlserver.Kind("sqlite")

var variants = []variant{{"off", false, ""}, {"lake", true, ""}, {"sqlite", false, embeddedTable}, {"postgres", false, sqlserver.Postgres},
	{"clickhouse", false, sqlserver.ClickHouse}, {"both", true, embeddedTable}}

// variantsOf finds them by name. The first must be off, which the others are compared with.
func variantsOf(names string) (chosen []variant, err error) {
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(variants, func(v variant) bool { return v.name == name })
		if i < 0 {
			return nil, fmt.Errorf("-variants: no variant is called %q", name)
		}
		chosen = append(chosen, variants[i])
	}
	if chosen[0].name != "off" {
		return nil, fmt.Errorf("-variants: begin with off, to compare the others with")
	}
	return chosen, nil
}

// results are those of all rounds, by variant.
type results struct {
	cost   map[string][]float64 // us of CPU an event, by round
	memory map[string]float64   // MB, the most of all rounds
}

func (r *results) take(name string, us float64, p rig.Processed) {
	r.cost[name] = append(r.cost[name], us)
	r.memory[name] = max(r.memory[name], float64(p.PeakRSS>>20))
}

// line is what is told of one variant. Added is the median over the rounds of what it cost more
// than the same round's off.
type line struct {
	CPU     float64 `json:"cpu_us_per_event"` // median
	Added   float64 `json:"added_us_per_event"`
	Least   float64 `json:"added_least"`
	Most    float64 `json:"added_most"`
	PeakRSS float64 `json:"peak_rss_mb"`
}

func (r *results) tell(of []variant) error {
	lines := make(map[string]line)
	for _, v := range of {
		added := make([]float64, len(r.cost[v.name]))
		for i, us := range r.cost[v.name] {
			added[i] = us - r.cost["off"][i]
		}
		lines[v.name] = line{hundredths(median(r.cost[v.name])), hundredths(median(added)), hundredths(slices.Min(added)), hundredths(slices.Max(added)), r.memory[v.name]}
		fmt.Fprintf(os.Stderr, "%-10s %6.2f us an event, %+6.2f by it (%+.2f to %+.2f), %.0f MB at most\n", v.name, lines[v.name].CPU, lines[v.name].Added, lines[v.name].Least, lines[v.name].Most, lines[v.name].PeakRSS)
	}
	return json.NewEncoder(os.Stdout).Encode(lines)
}

func median(of []float64) float64 {
	sorted := slices.Sorted(slices.Values(of))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

func hundredths(x float64) float64 { return math.Round(x*100) / 100 }

// load1 is the machine's load average of the last minute.
func load1() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "?"
	}
	first, _, _ := strings.Cut(string(text), " ")
	return first
}
